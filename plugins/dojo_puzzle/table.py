"""The table of `docs/puzzle.md`: which katas have a puzzle, and why others have none."""

from __future__ import annotations

from dojo_puzzle.puzzle import NoPuzzle, make
from grader.course.catalog import Course


def table(course: Course) -> str:
    """Return the puzzles of a course as Markdown, by the number of lines that are moved; and the other katas,
    by the reason."""
    puzzles, others = dict[str, list[str]](), dict[str, list[str]]()
    for info in course.katas.values():
        try:
            puzzles.setdefault(str(len(make(course, info).lines)), []).append(info.name)
        except NoPuzzle as none:
            reason = none.reason.removeprefix(f"{info.name} has no puzzle: ").removesuffix(".")
            others.setdefault(reason, []).append(info.name)
    sizes = _rows({size: puzzles[size] for size in sorted(puzzles, key=int)})
    head = ["| lines to move | katas |", "|---:|---|"]
    return "\n".join([*head, *sizes, "", "| why there is none | katas |", "|---|---|", *_rows(others), ""])


def _rows(katas: dict[str, list[str]]) -> list[str]:
    return [f"| {what} | {', '.join(f'`{name}`' for name in names)} |" for what, names in katas.items()]
