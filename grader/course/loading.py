"""The course's own files, parsed and loaded: what is wrong with one is said with its line."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import types
from pathlib import Path

from grader.errors import CourseError, KataError


def parse(path: Path) -> ast.Module:
    """The syntax tree of one of the course's own files. Raises KataError, CourseError."""
    try:
        return ast.parse(read(path), filename=path.name)
    except SyntaxError as error:
        raise KataError(f"{shorten(path)} has a syntax error in line {error.lineno}: {error.msg}.") from None


def read(path: Path) -> str:
    """The text of one of the course's own files. Raises KataError, CourseError."""
    if not path.is_file():
        raise CourseError(f"The file {shorten(path)} is missing.")
    try:
        source = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        source = "\0"
    if "\0" in source:
        raise KataError(f"{shorten(path)} cannot be read as Python: save it as UTF-8.")
    return source


def load_file(name: str, path: Path) -> types.ModuleType:
    """Import one of the course's own files under `name`. Never used for a submission."""
    if not path.is_file():
        raise CourseError(f"The file {shorten(path)} is missing.")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError:
        parse(path)  # says which line
        raise
    except KataError:
        raise
    except Exception as error:
        line = line_of(error, path)
        raise KataError(f"{shorten(path)} cannot be loaded: line {line} raises {told(error)}.") from error
    return module


def line_of(error: BaseException, path: Path) -> int:
    """The last line of `path` that an error came through; 0 where it came through none."""
    import traceback  # needed here alone, and nothing else of `grade --list` imports it

    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == str(path)), 0)


def told(error: BaseException) -> str:
    """An error as `ValueError: what it says`, on one line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}".rstrip(": .")


def shorten(path: Path) -> str:
    """The path relative to the current folder where it lies below it; its name otherwise."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return path.name


def cache_folder() -> Path:
    """Where the cache is: `$XDG_CACHE_HOME` or `~/.cache`, else a folder of the system's for this user."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(chosen) if chosen else Path.home() / ".cache") / "decoder-dojo"
    except RuntimeError:  # this user has no home
        import tempfile

        return Path(tempfile.gettempdir()) / "decoder-dojo"
