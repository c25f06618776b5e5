"""The cells of a notebook that answer a kata, read as plain JSON: no Jupyter is needed, nothing is run.

A cell answers a kata where it begins with `%%kata NAME`, or where nbgrader knows it under the kata's name.
nbgrader's cell goes before others, and of two alike the last one counts, as it does when all cells are run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from grader.course.catalog import KataInfo, shorten
from grader.course.submission import MAX_BYTES, Submission, SubmissionRejected, decoded, parse, read_bytes

SUFFIX = ".ipynb"
LARGEST = 32 * MAX_BYTES  # outputs may hold pictures
OPENING = re.compile(r"%%kata[ \t]+(\w+)[ \t]*(?:\r?\n|$)")

WITH_VALUE = ("--key", "--device")  # options of %grade

Cell = Mapping[str, Any]


def is_notebook(file: Path) -> bool:
    return file.suffix == SUFFIX


def score_id(kata_name: str) -> str:
    """Under which name nbgrader knows the cell that holds a kata's score; the answer's is the kata's own."""
    return f"{kata_name}-score"


def source_of(path: Path, kata_name: str) -> str:
    """Return the code of the cell that answers a kata, its lines numbered as in the cell. Raises
    SubmissionRejected."""
    return answer_in(read_cells(path), kata_name, shorten(path))


def answer_in(cells: list[Cell], kata_name: str, label: str) -> str:
    """The code of the cell that answers a kata. Raises SubmissionRejected where there is none."""
    return require_answer(answer_to(kata_name, cells), kata_name, label)


def require_answer(answer: str | None, kata_name: str, label: str) -> str:
    """The answer that was looked for. Raises SubmissionRejected where there is none."""
    if answer is None:
        raise SubmissionRejected(f"{label} holds no answer: no cell begins with %%kata {kata_name}.")
    return answer


def read_from_notebook(info: KataInfo, path: Path) -> Submission:
    """The answer to one kata as a submission. Raises SubmissionRejected with one sentence."""
    return parse(info, source_of(path, info.name), f"{shorten(path)} (cell {info.name})")


def katas_in(path: Path, known: Iterable[str]) -> list[str]:
    """Which of the known katas a notebook answers, in their own order. Raises SubmissionRejected."""
    cells = read_cells(path)
    return [name for name in known if answer_to(name, cells) is not None]


def answer_to(kata_name: str, cells: Iterable[Cell]) -> str | None:
    """The code of the one cell that counts, without its magic; None where there is no such cell."""
    cells = [cell for cell in cells if cell.get("cell_type") == "code"]
    marked = [cell for cell in cells if grade_id(cell) == kata_name]
    opened = [cell for cell in cells if _opened_kata(cell) == kata_name]
    found = (marked or opened)[-1:]
    return next((without_magic(text_of(cell)) for cell in found), None)


def grade_id(cell: Cell) -> str:
    """The name by which nbgrader knows a cell; empty where it knows none."""
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
    name = marks.get("grade_id") if isinstance(marks, Mapping) else None
    return name if isinstance(name, str) else ""


def text_of(cell: Cell) -> str:
    """A cell's source, which a notebook holds as a text or as a list of lines."""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def without_magic(source: str) -> str:
    """The code below `%%kata NAME`; an empty line stands for the magic, so that lines keep their numbers."""
    return OPENING.sub("\n", source, count=1) if OPENING.match(source) else source


def katas_asked(source: str) -> list[str]:
    """The katas for whose score a cell asks, by `%grade`."""
    words = [line.split() for line in source.splitlines() if line.startswith("%grade")]
    pairs = [pair for line in words for pair in pairwise(line)]
    return [word for before, word in pairs if not word.startswith("-") and before not in WITH_VALUE]


def _opened_kata(cell: Cell) -> str:
    opening = OPENING.match(text_of(cell))
    return opening[1] if opening else ""


def read_cells(path: Path) -> list[Cell]:
    """All cells of a notebook. Raises SubmissionRejected where the file is no notebook."""
    label = shorten(path)
    return cells_in(read_bytes(path, label, LARGEST, "a notebook"), label)


def cells_in(data: bytes, label: str) -> list[Cell]:
    """All cells of the notebook that these bytes are. Raises SubmissionRejected where they are none."""
    try:
        found = json.loads(decoded(data, label, LARGEST))
    except (ValueError, RecursionError, MemoryError):
        raise SubmissionRejected(
            f"{label} is no notebook, or a damaged one: it cannot be read as JSON."
        ) from None
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list):
        raise SubmissionRejected(
            f"{label} holds no cells; open it in Jupyter and save it as a notebook of version 4."
        )
    return [cell for cell in cells if isinstance(cell, dict)]
