"""Write the table of a kata's mistakes: the level, the points and the failing checks of each."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dojo_authoring.verify.mistakes import MistakeOutcome
from grader.course.catalog import Course, KataInfo
from grader.mistakes import LEVELS

FILE_NAME = "mistakes.md"
HEAD = "| mistake | level | points | failing checks |\n|---|---|---:|---|"


def renew_table(course: Course, info: KataInfo, outcomes: Sequence[MistakeOutcome], *, create: bool) -> bool:
    """Write the table of one kata into its folder of solutions, if it has one or `create` is true. Return
    whether the file has changed."""
    path, text = course.folder(info) / FILE_NAME, mistake_table(info, outcomes)
    before = path.read_text(encoding="utf-8") if path.is_file() else "" if create else text
    if before != text:
        path.write_text(text, encoding="utf-8")
    return before != text


def mistake_table(info: KataInfo, outcomes: Sequence[MistakeOutcome]) -> str:
    """Return the table as Markdown, crude mistakes first."""
    ordered = sorted(outcomes, key=lambda outcome: (LEVELS.index(outcome.level), outcome.points))
    rows = [f"| `{o.name}` | {o.level} | {o.points / 100:g} | {_failing(o)} |" for o in ordered]
    return "\n".join([f"# Mistakes of `{info.name}`\n", f"{medians(outcomes)}\n", HEAD, *rows]) + "\n"


def medians(outcomes: Sequence[MistakeOutcome]) -> str:
    """Return the median of the points for each level as one sentence."""
    points = {level: [o.points / 100 for o in outcomes if o.level == level] for level in LEVELS}
    text = [f"{level} {median(found):g} ({len(found)})" for level, found in points.items() if found]
    return f"Median points by level: {', '.join(text)}."


def _failing(outcome: MistakeOutcome) -> str:
    return ", ".join(f"`{name}`" for name in sorted(outcome.failed))
