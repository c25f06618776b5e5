"""Check that libraries, device and isolation are available, open a grader, and grade single files."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.answer_keys.file import KeyUnusable
from grader.answer_keys.lookup import open_keyring
from grader.cases.generation import SEED
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.notebook_cells import is_notebook, read_from_notebook
from grader.course.submission import Submission, SubmissionRejected, read_submission
from grader.grading.grader import Graded, Grader
from grader.grading.submission_run import CUDA_SECONDS
from grader.kata import KataError
from grader.report import Isolation
from grader.report_texts import bounded
from grader.worker.client import RemoteStudent, WorkerLost
from grader.worker.fork_server import WorkerFactories
from grader.worker.process import WorkerFactory


class LibraryMissing(Exception):
    """A kata needs a library that is not installed; the message says how to install it."""


class DeviceMissing(Exception):
    """The requested device does not exist on this machine."""


class IsolationMissing(Exception):
    """This machine cannot provide the isolation that was required."""


#: Errors in the input or on this machine, not in the grader; each message is one sentence for the user.
COMPLAINTS = (CourseError, KataError, KeyUnusable, LibraryMissing, DeviceMissing, IsolationMissing)


def require_library(infos: list[KataInfo], device: str) -> None:
    """Raise LibraryMissing if a kata needs PyTorch and it is not installed, and DeviceMissing if `device` is
    "cuda" and there is no GPU."""
    for info in infos:
        require_installed(info)
    if device == "cuda" and not has_cuda():
        raise DeviceMissing(
            "There is no CUDA device on this machine; leave out --device to grade on the CPU."
        )


def require_installed(what: KataInfo | Submission) -> None:
    """Raise LibraryMissing if a kata or a submission needs PyTorch and it is not installed."""
    if lacks_library(what):
        raise LibraryMissing(_what_to_install(what))


def lacks_library(what: KataInfo | Submission) -> bool:
    """True if a kata or a submission needs PyTorch and it is not installed."""
    return what.library == "torch" and importlib.util.find_spec("torch") is None


def _what_to_install(what: KataInfo | Submission) -> str:
    why = f"`{what.name}` is a PyTorch kata" if isinstance(what, KataInfo) else f"{what.label} imports torch"
    return f"{why}, and PyTorch is not installed: pip install torch==2.13.0"


def has_cuda() -> bool:
    """True if there is a CUDA device. Ask a separate process, because one that has used CUDA cannot fork
    workers that use it."""
    if importlib.util.find_spec("torch") is None:
        return False
    import subprocess

    question = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-P", "-c", question], capture_output=True).returncode == 0


@dataclass(frozen=True)
class GraderSettings:
    """The device and the isolation of the workers, the answer key that is used instead of solutions, with
    the secret that decrypts it, and the seed of the cases where there is no key."""

    device: str = "cpu"
    isolation: str = "best"
    key: Path | None = None
    secret: Path | None = None
    seed: int = SEED


DEFAULTS = GraderSettings()


def open_grader(
    course: Course,
    infos: list[KataInfo],
    settings: GraderSettings = DEFAULTS,
    workers: str = "",
) -> tuple[Grader, WorkerFactories]:
    """Return a grader and its worker factories. The fork servers start before any solution, key or secret is
    read. Pass `workers="spawn"` if this process has read one already or has threads. Raises
    IsolationMissing, KeyUnusable."""
    libraries = {info.library for info in infos if not lacks_library(info)} or {"numpy"}
    source = WorkerFactories(libraries, workers or os.environ.get("DOJO_WORKERS", ""), settings.isolation)
    try:
        if settings.isolation == "required":
            _require_isolation(source[min(libraries)], settings.device)
        keyring = open_keyring(course, infos, settings.key, settings.secret)
    except (IsolationMissing, KeyUnusable):
        source.close()
        raise
    return Grader(course, source, settings.device, settings.seed, keyring), source


def _require_isolation(source: WorkerFactory, device: str) -> None:
    """Start a worker without a submission and raise IsolationMissing if it lacks a protection."""
    try:
        with source.start(device) as process:
            held = Isolation(**RemoteStudent(process).greeting(CUDA_SECONDS))
    except WorkerLost as lost:
        raise IsolationMissing(f"`--isolation required`: no worker can be started here. {lost}") from None
    if not held.is_whole:
        raise IsolationMissing(
            f"`--isolation required`: this machine lacks {_lacking(held)}."
            " `--isolation best` takes what there is."
        )


def _lacking(held: Isolation) -> str:
    memory = held.limits or held.gpu
    layers = {"Landlock": held.landlock_abi, "seccomp": held.seccomp, "a limit of memory": memory}
    return " and ".join(name for name, holds in layers.items() if not holds)


def read_answer(info: KataInfo, path: Path) -> Submission:
    """Return the answer to a kata, read from a Python file or a notebook. Raises SubmissionRejected."""
    return read_from_notebook(info, path) if is_notebook(path) else read_submission(info, path)


def grade_file(grader: Grader, info: KataInfo, path: Path) -> Graded:
    """Grade one file, also if it cannot be graded or is not begun."""
    return grade_read(grader, info, lambda: read_answer(info, path))


def grade_read(grader: Grader, info: KataInfo, read: Callable[[], Submission]) -> Graded:
    """Grade the submission that `read` returns; `read` may raise SubmissionRejected."""
    if lacks_library(info):
        return Graded(info.unjudged("error", _what_to_install(info)))
    try:
        submission = read()
        if not submission.begun:
            task = "fill in the values" if info.questions else "write the code"
            message = f"Not started yet: open {submission.label}, read its docstring, {task}."
            return Graded(info.unjudged("not_started", message))
        if lacks_library(submission):
            return Graded(info.unjudged("error", _what_to_install(submission)))
        return grader.grade(submission)
    except SubmissionRejected as refused:
        report = replace(info.unjudged("error", str(refused)), excerpt=refused.excerpt)
        return Graded(bounded(report))
