"""The tables of mutation results in the docs; a run replaces only the counts that it measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from grader.course.catalog import Course
from grader.edits.walk import FAMILIES

Counts = tuple[int, int, int]  # mutants, caught, equivalent
Row = dict[str, Counts]  # the counts of a kata, by family of operators
COLUMNS = "mutants | caught | of all | right answers | missed |"
RULE = "|---|" + 5 * "---:|"
FIRST = "## Counts"
ROW = re.compile(r"^\| `(\w+)` \| \d+ (.*) \|$", re.M)
CELL = re.compile(r"(\d+) / (\d+) / (\d+)")


def read_rows(text: str) -> dict[str, Row]:
    """Return the counts in the page's table, by kata and family."""
    return {name: _row_of(cells.split(" | ")[-len(FAMILIES) :]) for name, cells in ROW.findall(text)}


def _row_of(cells: list[str]) -> Row:
    found = zip(FAMILIES, map(CELL.fullmatch, cells), strict=True)
    return {name: (int(cell[1]), int(cell[2]), int(cell[3])) for name, cell in found if cell}


def write_page(page: Path, course: Course, rows: dict[str, Row]) -> None:
    """Put new counts into the page's tables; keep the text above and the counts not measured."""
    text = page.read_text(encoding="utf-8") if page.is_file() else "# Strength\n\n"
    rows = {name: {**row, **rows.get(name, {})} for name, row in {**rows, **read_rows(text)}.items()}
    page.write_text(text.split(FIRST)[0] + tables(course, rows), encoding="utf-8")


def tables(course: Course, rows: dict[str, Row]) -> str:
    """Return the tables with one row per family and one row per kata, in course order."""
    known = {name: rows[name] for name in course.katas if rows.get(name)}
    families = {name: total(row[name] for row in known.values() if name in row) for name in FAMILIES}
    by_family = [_row(name, counts) for name, counts in families.items() if counts[0]]
    by_kata = [
        _row(f"`{name}`", total(row.values()), *map(_cell, map(row.get, FAMILIES)))
        for name, row in known.items()
    ]
    everything = total(families.values())
    head = [f"| kata | {COLUMNS} {' | '.join(FAMILIES)} |", RULE + len(FAMILIES) * "---:|"]
    return "\n".join(
        [
            *(FIRST, "", f"| operators | {COLUMNS}", RULE, *by_family, _row("all", everything), ""),
            "The last columns hold the mutants of a family, those caught, and the right answers.",
            *("", *head, *by_kata, _row("all", everything, *map(_cell, families.values())), ""),
        ]
    )


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sums of the counts."""
    mutants, caught, right = map(sum, zip((0, 0, 0), *counts, strict=True))
    return mutants, caught, right


def _cell(counts: Counts | None) -> str:
    return " / ".join(map(str, counts)) if counts else ""


def _row(name: str, counts: Counts, *cells: str) -> str:
    tried, caught, right = counts
    share, missed = f"{caught / max(tried, 1):.1%}", str(tried - caught - right)
    return f"| {' | '.join((name, str(tried), str(caught), share, str(right), missed, *cells))} |"
