"""Write the table of a kata's mistakes, which reviewers read: level, points and failing checks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from grader.authoring.mistake_checks import MistakeOutcome
from grader.course.catalog import Course, KataInfo
from grader.mistakes import LEVELS

FILE_NAME = "mistakes.md"
HEAD = "| mistake | level | points | failing checks |\n|---|---|---:|---|"


def write_table(course: Course, info: KataInfo, outcomes: Sequence[MistakeOutcome]) -> None:
    """Write the table of one kata into its folder of solutions."""
    (course.folder(info) / FILE_NAME).write_text(table(info, outcomes), encoding="utf-8")


def table(info: KataInfo, outcomes: Sequence[MistakeOutcome]) -> str:
    """Return the table as Markdown, crude mistakes first."""
    ordered = sorted(outcomes, key=lambda outcome: (LEVELS.index(outcome.level), outcome.points))
    rows = [f"| `{o.name}` | {o.level} | {o.points / 100:g} | {_listed(o)} |" for o in ordered]
    return "\n".join([f"# Mistakes of `{info.name}`\n", f"{medians(outcomes)}\n", HEAD, *rows]) + "\n"


def _listed(outcome: MistakeOutcome) -> str:
    return ", ".join(f"`{name}`" for name in sorted(outcome.failed))


def medians(outcomes: Sequence[MistakeOutcome]) -> str:
    """Return the median of the points for each level as one sentence."""
    points = {level: [o.points / 100 for o in outcomes if o.level == level] for level in LEVELS}
    told = [f"{level} {median(found):g} ({len(found)})" for level, found in points.items() if found]
    return f"Median points by level: {', '.join(told)}."
