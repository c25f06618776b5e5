"""Render a report for a notebook and a score for nbgrader."""

from __future__ import annotations

from html import escape as escape_html
from typing import Any

from grader.formats import html, terminal
from grader.report import KataReport


def score_id(kata_name: str) -> str:
    """Return nbgrader's `grade_id` of the cell that shows a kata's score; the answer's is the kata's name."""
    return f"{kata_name}-score"


def mime_bundle(kata: KataReport) -> dict[str, str]:
    """Return the report as HTML and as plain text, by MIME type."""
    return {"text/html": html.fragment(kata), "text/plain": terminal.render_kata(kata)}


def frame_bundle(page: str, text: str) -> dict[str, str]:
    """Return a page in a frame that reaches nothing of the notebook, and its text, by MIME type."""
    style = "width: 100%; height: 44rem; border: 1px solid #8888"
    frame = '<iframe sandbox="allow-scripts" style="{}" title="Your functions" srcdoc="{}">'
    frame = frame.format(style, escape_html(page))
    return {"text/html": f"{frame}</iframe>", "text/plain": text}


def score_of(kata: KataReport, points: float | None = None) -> float:
    """Return the score of a kata in points, scaled to `points`, what its cell is worth, if that is given."""
    score, most = kata.score / 100, kata.max_score / 100
    return score if points is None or points == most else round(points * score / most, 2)


def outputs_of(kata: KataReport, points: float) -> list[Any]:
    """Return the cell's outputs: the report, which nbgrader ignores, and the score as the result."""
    from nbformat.v4 import new_output

    score = repr(score_of(kata, points))
    return [
        new_output("display_data", data=mime_bundle(kata)),
        new_output("execute_result", data={"text/plain": score}, execution_count=1),
    ]
