"""`grade doctor`: what this machine has of all that grading uses."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader.cli.console import view_of
from grader.cli.keyboard import command, has_keyboard
from grader.cli.options import GradeOptions, columns
from grader.course.catalog import Course
from grader.course.state import CourseState
from grader.grading.session import TORCH, DeviceMissing, require_library
from grader.installing import install_command
from grader.report import Isolation
from grader.texts.wrapping import words
from grader.worker.client import START_SECONDS, RemoteStudent, WorkerLost
from grader.worker.fork_server import open_source

MISSING = "not installed"


def findings(course: Course, options: GradeOptions) -> dict[str, str]:
    """Return what was found, by what it is about."""
    return {
        "Python": f"{platform.python_version()}, {sys.executable}",
        "NumPy": _version("numpy"),
        "PyTorch": _pytorch(course),
        "GPU": _gpu(),
        "sandbox": _sandbox(options.isolation),
        "editor": _editor(),
        "terminal": _terminal(options),
        "course": f"{course.root.resolve()}, {len(course.katas)} katas",
        "exercises": str(course.exercises.resolve()),
        "state": str(CourseState(course).folder),
    }


def report(course: Course, options: GradeOptions) -> str:
    """Return the findings as text."""
    rows = findings(course, options).items()
    lines = (words(found, columns(), f"{name:<10} ", " " * 11) for name, found in rows)
    return "".join(f"{line}\n" for wrapped in lines for line in wrapped)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return MISSING


def _pytorch(course: Course) -> str:
    found = _version("torch")
    needing = sum(info.library == "torch" for info in course.katas.values())
    if found != MISSING or not needing:
        return found
    return f"{MISSING}; for {needing} of the katas: {install_command(TORCH)}"


def _gpu() -> str:
    try:
        require_library([], "cuda")
    except DeviceMissing:
        return "none that PyTorch can use; no kata needs one"
    return "CUDA: grade --device cuda"


def _sandbox(isolation: str) -> str:
    """Return the layers that a worker reports before it loads anything."""
    with closing(open_source("numpy", isolation=isolation)) as source:
        try:
            with source.start("cpu") as process:
                held = Isolation(**RemoteStudent(process).greeting(START_SECONDS))
        except WorkerLost as lost:
            return f"no worker can be started: {lost}"
    layers = {
        "a process of its own": held.process,
        f"Landlock {held.landlock_abi}": held.landlock_abi,
        "seccomp": held.seccomp,
        "limits": held.limits,
    }
    missing = [name.removesuffix(" 0") for name, holds in layers.items() if not holds]
    lacks = f"; not here: {', '.join(missing)}" if missing else ""
    return ", ".join(name for name, holds in layers.items() if holds) + lacks


def _editor() -> str:
    words = command(Path("FILE"), 1)
    return shlex.join(words) if words else "none; set the variable EDITOR"


def _terminal(options: GradeOptions) -> str:
    view = view_of(options)
    facts = [f"{view.width} columns", "colour" if view.colour else "no colour"]
    facts += ["ASCII" if view.ascii_only else "UTF-8"]
    facts += ["the loop" if has_keyboard() else "no loop, since this is no terminal with keys"]
    return ", ".join([*facts, os.environ.get("TERM_PROGRAM") or os.environ.get("TERM") or ""]).rstrip(", ")
