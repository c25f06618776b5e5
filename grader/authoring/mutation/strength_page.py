"""The table of mutation results in the docs; a run replaces only the rows of the katas that it measured."""

from __future__ import annotations

import re
from pathlib import Path

from grader.course.catalog import Course

Counts = tuple[int, int, int]  # mutants, caught, equivalent

HEAD = "| kata | mutants | caught | of all | right answers | missed |\n|---|---:|---:|---:|---:|---:|"
ROW = re.compile(r"^\| `(\w+)` \| (\d+) \| (\d+) \| [^|]* \| (\d+) \|", re.M)


def read_rows(text: str) -> dict[str, Counts]:
    """Return the counts in the page's table, by kata."""
    return {name: (int(tried), int(caught), int(right)) for name, tried, caught, right in ROW.findall(text)}


def write_page(page: Path, course: Course, counts: dict[str, Counts]) -> None:
    """Put new counts into the page's table; keep the text above it and the rows of other katas."""
    text = page.read_text(encoding="utf-8") if page.is_file() else "# Strength\n\n"
    rows = {**read_rows(text), **counts}
    page.write_text(text.split("| kata |")[0] + table(course, rows), encoding="utf-8")


def table(course: Course, rows: dict[str, Counts]) -> str:
    """Return the table with one row per kata, in course order, and the total."""
    known = {name: rows[name] for name in course.katas if name in rows}
    total: Counts = tuple(map(sum, zip(*known.values(), strict=True)))  # type: ignore[assignment]
    lines = [_row(f"`{name}`", counts) for name, counts in known.items()]
    return "\n".join([HEAD, *lines, _row("all", total)]) + "\n"


def _row(name: str, counts: Counts) -> str:
    tried, caught, right = counts
    return f"| {name} | {tried} | {caught} | {caught / tried:.1%} | {right} | {tried - caught - right} |"
