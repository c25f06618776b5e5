"""Read the cells of a notebook that answer a kata, as plain JSON: without Jupyter and without running code.

A cell answers a kata if it begins with `%%kata NAME`, or if its `grade_id` for nbgrader is the kata's name.
Of several such cells the last written one counts, as when all cells are run; without one, the last stub.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from grader.course.catalog import KataInfo, shorten
from grader.course.submission import (
    MAX_BYTES,
    Submission,
    SubmissionRejected,
    decoded,
    is_unwritten,
    parse,
    read_bytes,
)

SUFFIX = ".ipynb"
LARGEST = 32 * MAX_BYTES  # the outputs in a notebook may contain images
OPENING = re.compile(r"%%kata[ \t]+(\w+)[ \t]*(?:\r?\n|$)")

WITH_VALUE = ("--key", "--device")  # options of %grade

Cell = Mapping[str, Any]


def is_notebook(file: Path) -> bool:
    return file.suffix == SUFFIX


def score_id(kata_name: str) -> str:
    """Return nbgrader's `grade_id` of the cell that shows a kata's score; the answer's is the kata's name."""
    return f"{kata_name}-score"


def source_of(path: Path, kata_name: str) -> str:
    """Return the code of the cell that answers a kata, with the line numbers of the cell. Raises
    SubmissionRejected if there is none."""
    return answer_in(read_cells(path), kata_name, shorten(path))


def answer_in(cells: list[Cell], kata_name: str, label: str) -> str:
    """Return the code of the cell that answers a kata. Raises SubmissionRejected if there is none."""
    return require_answer(answer_to(kata_name, cells), kata_name, label)


def require_answer(answer: str | None, kata_name: str, label: str) -> str:
    """Return `answer`. Raises SubmissionRejected if it is None."""
    if answer is None:
        raise SubmissionRejected(f"{label} holds no answer: no cell begins with %%kata {kata_name}.")
    return answer


def read_from_notebook(info: KataInfo, path: Path) -> Submission:
    """Return a notebook's answer to one kata as a submission. Raises SubmissionRejected."""
    return parse(info, source_of(path, info.name), f"{shorten(path)} (cell {info.name})")


def katas_in(path: Path, known: Iterable[str]) -> list[str]:
    """Return the katas among `known` that a notebook answers, in the order of `known`. Raises
    SubmissionRejected if the file is not a notebook."""
    cells = read_cells(path)
    return [name for name in known if answer_to(name, cells) is not None]


def answer_to(kata_name: str, cells: Iterable[Cell]) -> str | None:
    """Return the code of the cell that counts, without its magic, or None if no cell answers the kata."""
    cells = [cell for cell in cells if cell.get("cell_type") == "code"]
    own = [cell for cell in cells if kata_name in (grade_id(cell), _kata_of_magic(cell))]
    answers = [without_magic(text_of(cell)) for cell in own]
    written = [answer for answer in answers if not is_unwritten(answer)]
    return next(iter((written or answers)[-1:]), None)


def grade_id(cell: Cell) -> str:
    """Return nbgrader's `grade_id` of a cell, or an empty text if it has none."""
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
    name = marks.get("grade_id") if isinstance(marks, Mapping) else None
    return name if isinstance(name, str) else ""


def text_of(cell: Cell) -> str:
    """Return a cell's source, which a notebook stores as a text or as a list of lines."""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def without_magic(source: str) -> str:
    """Return the code with an empty line in place of `%%kata NAME`, so that line numbers stay the same."""
    return OPENING.sub("\n", source, count=1) if OPENING.match(source) else source


def katas_asked(source: str) -> list[str]:
    """Return the katas that a cell grades with `%grade`."""
    words = [line.split() for line in source.splitlines() if line.startswith("%grade")]
    pairs = [pair for line in words for pair in pairwise(line)]
    return [word for before, word in pairs if not word.startswith("-") and before not in WITH_VALUE]


def _kata_of_magic(cell: Cell) -> str:
    opening = OPENING.match(text_of(cell))
    return opening[1] if opening else ""


def read_cells(path: Path) -> list[Cell]:
    """Return all cells of a notebook. Raises SubmissionRejected if the file is not a notebook."""
    label = shorten(path)
    return cells_in(read_bytes(path, label, LARGEST, "a notebook"), label)


def cells_in(data: bytes, label: str) -> list[Cell]:
    """Return all cells of a notebook given as bytes. Raises SubmissionRejected if it is not a notebook."""
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
