"""Read, parse and import the course's own files; errors name the file and the line."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import types
from pathlib import Path

from grader.course.files import read_file
from grader.errors import CourseError, KataError, reason_of


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of one of the course's own files. Raises KataError, CourseError."""
    try:
        return ast.parse(read(path), filename=path.name)
    except SyntaxError as error:
        raise KataError(f"{shorten(path)} has a syntax error in line {error.lineno}: {error.msg}.") from None


def read(path: Path) -> str:
    """Return the text of one of the course's own files. Raises KataError, CourseError."""
    if not path.is_file():
        raise CourseError(f"The file {shorten(path)} is missing.")
    try:
        source = read_file(path, follows_links=True).decode()
    except UnicodeDecodeError:
        source = "\0"
    except OSError as error:
        raise CourseError(f"{shorten(path)} cannot be read: {reason_of(error)}.") from None
    if "\0" in source:
        raise KataError(f"{shorten(path)} cannot be read as Python: save it as UTF-8.")
    return source


def load_file(name: str, path: Path) -> types.ModuleType:
    """Import one of the course's own files, never a submission, as the module `name`. Raises CourseError if
    it is missing, and KataError if it cannot be imported."""
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
        parse(path)  # raises a KataError with the line
        raise
    except KataError:
        raise
    except Exception as error:
        line = line_of(error, path)
        raise KataError(
            f"{shorten(path)} cannot be loaded: line {line} raises {message_of(error)}."
        ) from error
    return module


def line_of(error: BaseException, path: Path) -> int:
    """Return the last line of `path` in an error's traceback, or 0 if the file is not in it."""
    import traceback  # imported late, since `grade --list` does not need it

    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == str(path)), 0)


def message_of(error: BaseException) -> str:
    """Return an error as `ValueError: its message`, on one line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}".rstrip(": .")


def shorten(path: Path) -> str:
    """Return the path relative to the current folder if it lies below it, else the file's name."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return path.name


def from_here(path: Path) -> str:
    """Return the path from the current folder, or the absolute one if it lies more than two folders up."""
    relative = os.path.relpath(path)
    return str(path.absolute()) if relative.startswith(os.path.join("..", "..", "..")) else relative


def cache_folder() -> Path:
    """Return the cache folder: in `$XDG_CACHE_HOME` or `~/.cache`, or else among the temporary files."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(chosen) if chosen else Path.home() / ".cache") / "decoder-dojo"
    except RuntimeError:  # this user has no home folder
        import tempfile

        return Path(tempfile.gettempdir()) / "decoder-dojo"
