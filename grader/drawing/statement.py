"""Make pictures of the masks, matrices and shares that a kata's statement prints.

Only numbers of the statement are drawn, so a picture tells nothing more about the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from grader.report import Panel, Picture, PictureKind, to_number
from grader.values.formatting import axis_names

MOST_PICTURES = 6  # pictures of one statement
LARGEST_SIDE = 32  # rows or columns of a picture
FEWEST_NUMBERS = 3  # numbers of a picture
NAME = re.compile(r"(?:^|\s{2}|,\s)([A-Za-z_](?:[^\s]|\s(?!\s)){0,39}?)\s*=\s*$")
INDENT = "    "
BRACKETS = re.compile(r"(?<![\[\w])\[+")
ROW = re.compile(r"\[([^\[\]]+)\]")
BESIDE = re.compile(r",\s*\[*(?=\[)")  # what stands between two rows of one line
TRUTHS = {"True": 1.0, "False": 0.0}


def pictures(statement: str, axes: Mapping[str, str] | None = None) -> list[Picture]:
    """Return a picture of each named mask, matrix and list of fractions in the indented lines; `axes` holds
    the names of the axes, as in the kata's declaration."""
    lines, found = statement.splitlines(), list[Picture]()
    for number, line in enumerate(lines):
        for opening in BRACKETS.finditer(line):
            name = NAME.search(line[: opening.start()])
            picture = None
            if name and line.startswith(INDENT):
                picture = _picture(name[1], lines, number, opening, axes or {})
            if picture and found and _is_made_of(picture, found[-1]):
                found[-1] = replace(found[-1], panels=(*found[-1].panels, *picture.panels))
            elif picture:
                found.append(picture)
    return found[:MOST_PICTURES]


def _is_made_of(picture: Picture, before: Picture) -> bool:
    """Return whether a picture is a scaled one of the values before, so that one scale fits both, as it does
    for `x / sqrt(64)` below `x`."""
    titles = [panel.title for panel in (before.panels[-1], picture.panels[0])]
    is_scaled = re.fullmatch(rf"{re.escape(titles[0])} [*/] [\w.()]+", titles[1])
    return bool(is_scaled) and (picture.kind, picture.columns) == (before.kind, before.columns)


def _picture(
    name: str, lines: list[str], number: int, opening: re.Match[str], axes: Mapping[str, str]
) -> Picture | None:
    """Return the picture of the list or array that begins with these brackets, with a panel for each matrix;
    None if it is not drawn."""
    depth = len(opening[0])
    tables = _tables(lines, number, opening.end() - 1, depth)
    if depth == 1:
        tables = {(): tables[()][:1]} if tables else {}
    values = {at: [_numbers(text) for text in texts] for at, texts in tables.items()}
    rows = [row for table in values.values() for row in table]
    if not rows or not all(rows) or len({len(row) for row in rows}) > 1:
        return None
    first, texts = next(iter(values.values())), next(iter(tables.values()))
    wide, tall = len(first[0]), len(first)
    if max(wide, len(rows)) > LARGEST_SIDE or len({len(table) for table in values.values()}) > 1:
        return None
    if wide * tall < FEWEST_NUMBERS or not (depth > 1 or "." in texts[0]):
        return None
    is_mask = all(
        text.strip() in TRUTHS for part in tables.values() for row in part for text in row.split(",")
    )
    kind: PictureKind = "mask" if is_mask else "matrix" if depth > 1 else "bars"
    named = axis_names(axes.get("result" if "(" in name else name, ""))
    row_name, column_name = ["", "", *named][-2:]
    title = name.rpartition(": ")[2]
    return Picture(
        kind,
        "result",  # the panel has a title, so the picture needs no caption
        tuple(Panel(_title(title, at, len(values)), tuple(table)) for at, table in values.items()),
        tuple(f"{row_name} {index}".strip() for index in range(tall)) if depth > 1 else ("",),
        tuple(f"{column_name} {index}".strip() for index in range(wide)),
    )


def _title(name: str, at: tuple[int, ...], tables: int) -> str:
    """Return the title of one matrix of an array; its index only if there are several."""
    return f"{name}[{', '.join(map(str, at))}]" if tables > 1 else name


def _tables(lines: list[str], number: int, column: int, depth: int) -> dict[tuple[int, ...], list[str]]:
    """Return the texts of the rows of an array that begins with `depth` brackets, by the place of their
    matrix on the axes before. A row on the next line begins in the same column."""
    found: dict[tuple[int, ...], list[str]] = {}
    first, at, place = number, column, [0] * max(0, depth - 2)
    while row := _row(lines, number, at):
        found.setdefault(tuple(place), []).append(row[1])
        rest = lines[number][row.end() :]
        closed = len(rest) - len(rest.lstrip("]"))
        if closed >= depth - 1:
            return found
        for axis in range(len(place) - closed, len(place)):
            place[axis] = place[axis] + 1 if axis == len(place) - closed else 0
        beside = BESIDE.match(rest[closed:])
        # on later lines, what stands further to the right belongs to another array
        if beside and (number == first or beside[0].startswith(", [") or beside[0] == ", "):
            at = row.end() + closed + beside.end()
        else:
            number, at = number + 1, column
    return {}  # it does not end here, so it is not drawn


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
