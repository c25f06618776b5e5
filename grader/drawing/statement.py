"""Make pictures of the masks, matrices and shares that a kata's statement prints.

Only numbers of the statement are drawn, so a picture tells nothing more about the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader.report import Panel, Picture, PictureKind, to_number
from grader.values.formatting import axis_names

MOST_PICTURES = 6  # pictures of one statement
LARGEST_SIDE = 32  # rows or columns of a picture
FEWEST_NUMBERS = 3  # numbers of a picture
NAME = re.compile(r"(?:^|\s{2}|,\s)([A-Za-z_](?:[^\s]|\s(?!\s)){0,39}?)\s*=\s*$")
INDENT = "    "
BRACKETS = re.compile(r"(?<![\[\w])\[+")
ROW = re.compile(r"\[([^\[\]]+)\]")
TRUTHS = {"True": 1.0, "False": 0.0}


def pictures(statement: str, axes: Mapping[str, str] | None = None) -> list[Picture]:
    """Return a picture of each named mask, matrix and list of fractions in the indented lines; `axes` holds
    the names of the axes, as in the kata's declaration."""
    lines, found = statement.splitlines(), []
    for number, line in enumerate(lines):
        for opening in BRACKETS.finditer(line):
            name = NAME.search(line[: opening.start()])
            if name and line.startswith(INDENT):
                picture = _picture(name[1], lines, number, opening, axes or {})
                found += [picture] if picture else []
    return found[:MOST_PICTURES]


def _picture(
    name: str, lines: list[str], number: int, opening: re.Match[str], axes: Mapping[str, str]
) -> Picture | None:
    """Return the picture of the list or matrix that begins with these brackets; None if it is not drawn."""
    is_matrix = len(opening[0]) > 1
    texts = list(_rows(lines, number, opening.end() - 1, len(opening[0]) - 1))
    texts = texts if is_matrix else texts[:1]
    values = [_numbers(text) for text in texts]
    if not values or not all(values) or len({len(row) for row in values}) > 1:
        return None
    wide, tall = len(values[0]), len(values)
    if max(wide, tall) > LARGEST_SIDE or wide * tall < FEWEST_NUMBERS or not (is_matrix or "." in texts[0]):
        return None
    is_mask = all(text.strip() in TRUTHS for row in texts for text in row.split(","))
    kind: PictureKind = "mask" if is_mask else "matrix" if is_matrix else "bars"
    named = axis_names(axes.get("result" if "(" in name else name, ""))
    row_name, column_name = ["", "", *named][-2:]
    return Picture(
        kind,
        "result",  # the panel has a title, so the picture needs no caption
        (Panel(name.rpartition(": ")[2], tuple(values)),),
        tuple(f"{row_name} {index}".strip() for index in range(tall)) if is_matrix else ("",),
        tuple(f"{column_name} {index}".strip() for index in range(wide)),
    )


def _rows(lines: list[str], number: int, column: int, depth: int) -> Iterator[str]:
    """Yield the text inside each row of a matrix that ends with `depth` brackets. A row on the next line
    begins in the same column."""
    at = column
    while row := _row(lines, number, at):
        yield row[1]
        rest = lines[number][row.end() :]
        if rest.startswith("]" * depth):
            return
        beside = re.match(r",\s*(?=\[)", rest)
        if _row(lines, number + 1, column) and not rest.startswith(", ["):
            number, at = number + 1, column
        else:
            at = row.end() + beside.end() if beside else -1
    yield ""  # it does not end here, so it is not drawn


def _row(lines: list[str], number: int, column: int) -> re.Match[str] | None:
    """Return the row of numbers at this place, or None if there is none."""
    return ROW.match(lines[number], column) if column >= 0 and number < len(lines) else None


def _numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a row, or an empty tuple if it holds anything else."""
    words = [word.strip().replace("∞", "inf") for word in text.split(",")]
    try:
        return tuple(TRUTHS[word] if word in TRUTHS else to_number(word) for word in words)
    except ValueError:
        return ()
