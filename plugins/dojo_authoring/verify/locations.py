"""Find a kata's files and the lines of their definitions: `solutions/sorting/merge_sort/mistakes.py:12`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from grader.course.catalog import Course, KataInfo
from grader.course.files import parse


def place(course: Course, path: Path, line: int = 0) -> str:
    """Return `path:line`, relative to the current folder or else to the course's folder."""
    absolute = path.absolute()
    root = course.root.absolute()
    below = next((start for start in (Path.cwd(), root) if absolute.is_relative_to(start)), absolute.parent)
    return f"{absolute.relative_to(below).as_posix()}:{line}" if line else str(absolute.relative_to(below))


def line_of_definition(path: Path, name: str) -> int:
    """Return the line number of a function or class, or 0 if the file has none of this name."""
    found = [node for node in parse(path).body if getattr(node, "name", None) == name]
    return found[-1].lineno if found else 0


def last_line(path: Path) -> int:
    """Return the number of the last line, where new code is added."""
    return len(path.read_text(encoding="utf-8").splitlines())


def files_of(course: Course, info: KataInfo) -> list[Path]:
    """Return the files of a kata, in the order in which they are best written."""
    reference, declaration, stub = judged_files(course, info)
    return [reference, declaration, *answer_files(course, info), stub]


def judged_files(course: Course, info: KataInfo) -> list[Path]:
    """Return the files without which nothing can be judged: reference, declaration and stub."""
    return [course.solution(info, "reference"), info.path, course.stub(info)]


def answer_files(course: Course, info: KataInfo) -> list[Path]:
    """Return the files of mistakes and variants. If there are no mistakes, the first is the one to write."""
    due = course.folder(info) / info.kind.mistakes
    return [*(course.mistakes(info) or [due]), course.solution(info, "variants")]


def public_definitions(path: Path) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield the public functions and classes of a file."""
    for node in parse(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
