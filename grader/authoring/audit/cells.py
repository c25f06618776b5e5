"""Read notebooks of nbgrader and otter, and otter's tests, as cells that a driver runs in order."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.authoring.importing.exercise import MARKER
from grader.course.catalog import CourseError, shorten
from grader.course.files import read_file
from grader.course.files import text_of as source_in
from grader.course.notebook_cells import cells_in, grade_id, text_of
from grader.course.submission import SubmissionRejected
from grader.errors import reason_of

#: otter's comments around solutions and prompts, which its source notebooks hold.
OTTER = re.compile(r'^\s*("""\s*)?# (BEGIN|END) (SOLUTION|PROMPT|TESTS|QUESTION|TEST CONFIG)')
IS_OTTER = re.compile(r"\bOK_FORMAT\b|\btest\s*=\s*\{|otter\.test_files")


@dataclass(frozen=True)
class Cells:
    """The cells of a notebook, or a file with otter's tests, as files of a copy.

    `texts` are all files in their order. `answers` are those that students write, with their cells' names;
    `checks` are cells of tests, which stop the run where they raise; `otter` are otter's test files, which
    run at the end. `notebook` is the notebook's file name, "" if there is none.
    """

    label: str
    texts: dict[str, str]
    answers: dict[str, str]
    checks: tuple[str, ...] = ()
    otter: tuple[str, ...] = ()
    notebook: str = ""

    @property
    def order(self) -> list[str]:
        return list(self.texts)


def cells_of(folder: Path, file: Path) -> Cells | None:
    """Return the cells of a notebook, or of a file with otter's tests beside it; None if it has no tests.
    Raises CourseError if the notebook cannot be read."""
    otter = tuple(
        path.relative_to(folder).as_posix()
        for path in sorted(folder.glob("tests/*.py"))
        if IS_OTTER.search(source_in(path))
    )
    if file.suffix != ".ipynb":
        if not otter:
            return None
        name = file.resolve().relative_to(folder.resolve()).as_posix()
        return Cells(shorten(file), {name: source_in(file)}, {name: name}, (), otter)
    texts, answers, checks = _of_notebook(read(file), file.stem)
    if not checks and not otter:
        return None
    if not answers:
        raise CourseError(
            f"{shorten(file)} holds no solution: no cell is marked, and none defines a function."
        )
    return Cells(shorten(file), texts, answers, tuple(checks), otter, file.name)


def read(file: Path, data: bytes | None = None) -> list[Any]:
    """Return the code cells of a notebook. Raises CourseError."""
    try:
        cells = cells_in(read_file(file, follows_links=True) if data is None else data, shorten(file))
    except OSError as error:
        raise CourseError(f"{shorten(file)} cannot be read: {reason_of(error)}.") from None
    except (SubmissionRejected, json.JSONDecodeError) as error:
        raise CourseError(str(error)) from None
    return [cell for cell in cells if cell.get("cell_type") == "code"]


def _of_notebook(cells: list[Any], stem: str) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Return three things of a notebook: its cells as files (name to text), the names of those that a student
    writes, and the names of those that test."""
    marked = any(cell.get("metadata", {}).get("nbgrader") for cell in cells)
    texts: dict[str, str] = {}
    answers: dict[str, str] = {}
    checks = []
    for number, cell in enumerate(cells, 1):
        marks = cell.get("metadata", {}).get("nbgrader", {})
        name, source = name_of(cell, number), plain(text_of(cell))
        file = f"{stem}_cells/{number:02d}_{re.sub(r'[^a-zA-Z0-9_]+', '_', name)}.py"
        texts[file] = source
        if marks.get("solution") if marked else defines(source):
            answers[file] = name
        elif marks.get("grade"):
            checks.append(file)
    return texts, answers, checks


def name_of(cell: Any, number: int) -> str:
    """Return a cell's name in nbgrader, or its number."""
    return grade_id(cell) or f"cell_{number}"


def plain(source: str) -> str:
    """Return a cell's code with its magics and marks as comments, so that lines keep their numbers."""
    lines = []
    for line in source.split("\n"):
        is_mark = MARKER.match(line.strip()) or OTTER.match(line)
        indent = line[: len(line) - len(line.lstrip())]
        is_magic = line.lstrip()[:1] in ("%", "!")
        lines.append(f"{indent}pass  # {line.strip()}" if is_magic else "" if is_mark else line)
    return "\n".join(lines)


def defines(source: str) -> list[str]:
    """Return the names of the functions and classes that a cell defines."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
