"""The table of strengths in the docs, kept row by row, so that one kata can be measured anew alone."""

from __future__ import annotations

import re
from pathlib import Path

from grader.course.catalog import Course

Counts = tuple[int, int, int]  # mutants, caught, equivalent

HEAD = "| kata | mutants | caught | of all | right answers | missed |\n|---|---:|---:|---:|---:|---:|"
ROW = re.compile(r"^\| `(\w+)` \| (\d+) \| (\d+) \| [^|]* \| (\d+) \|", re.M)


def read_rows(text: str) -> dict[str, Counts]:
    """The counts that a page holds, by kata."""
    return {name: (int(tried), int(caught), int(right)) for name, tried, caught, right in ROW.findall(text)}


def write_page(page: Path, course: Course, counts: dict[str, Counts]) -> None:
    """Put new counts into the page; what stands above its table stays, as do the other katas' rows."""
    text = page.read_text(encoding="utf-8") if page.is_file() else "# Strength\n\n"
    rows = {**read_rows(text), **counts}
    page.write_text(text.split("| kata |")[0] + table(course, rows), encoding="utf-8")


def table(course: Course, rows: dict[str, Counts]) -> str:
    """One line a kata, in the order of the path, and the sum of all."""
    known = {name: rows[name] for name in course.katas if name in rows}
    total: Counts = tuple(map(sum, zip(*known.values(), strict=True)))  # type: ignore[assignment]
    lines = [_row(f"`{name}`", counts) for name, counts in known.items()]
    return "\n".join([HEAD, *lines, _row("all", total)]) + "\n"


def _row(name: str, counts: Counts) -> str:
    tried, caught, right = counts
    return f"| {name} | {tried} | {caught} | {caught / tried:.1%} | {right} | {tried - caught - right} |"
