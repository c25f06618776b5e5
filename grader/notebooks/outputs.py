"""A report as a notebook shows it, and a score as nbgrader reads it."""

from __future__ import annotations

from typing import Any

from grader.formats import fragment, terminal
from grader.report import KataReport


def bundle(kata: KataReport) -> dict[str, str]:
    """The report for a front end, and as text where there is none."""
    return {"text/html": fragment.render_kata(kata), "text/plain": terminal.render_kata(kata)}


def score_of(kata: KataReport, points: float | None = None) -> float:
    """The score as a plain float, in proportion where the cell is worth other points than the kata."""
    score, most = kata.score / 100, kata.max_score / 100
    return score if points is None or points == most else round(points * score / most, 2)


def outputs_of(kata: KataReport, points: float) -> list[Any]:
    """The report, which nbgrader passes over, then the score as the cell's one result."""
    from nbformat.v4 import new_output

    score = repr(score_of(kata, points))
    return [
        new_output("display_data", data=bundle(kata)),
        new_output("execute_result", data={"text/plain": score}, execution_count=1),
    ]
