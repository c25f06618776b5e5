"""Render a report as lines for an editor: `path:line:column: error: text`, one for each cause of a failure.

The last line begins with `grade: ` and holds the points. An editor that watches takes it as the end.
"""

from __future__ import annotations

from grader.formats import Document, account
from grader.formats.account import Cause
from grader.report import KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import one_line, without_commands
from grader.texts.points import points

LONGEST_FIELD = 600  # characters of one text
BEGINS = "grade: begins"  # the line before each grading of a watch


def render(report: Report) -> str:
    """Return the lines of all katas and the line with the points."""
    shown = legible(report)
    lines = [line for kata in shown.katas for line in _of_kata(kata)]
    lines.append(f"grade: {points(report.score)} of {points(report.max_score)} points")
    return without_commands("\n".join(lines)) + "\n"


def _of_kata(kata: KataReport) -> list[str]:
    if kata.status == "error":
        return [_line(kata, account.line_of(kata.message), 1, kata.message)]
    text = account.repair_text(kata)
    found = [_line(kata, r.place.line, r.place.start + 1, text) for r in kata.repairs]
    return [*(_of_cause(kata, cause) for cause in account.causes(kata)), *found]


def _of_cause(kata: KataReport, cause: Cause) -> str:
    check = cause.first
    text = account.explanation(check)
    if check.came and not account.named(check):
        text += f" {check.came}."
    more = f" (and {len(cause.checks) - 1} more)" if len(cause.checks) > 1 else ""
    place = check.place
    line, column = (place.line, place.start + 1) if place else (account.line_of(check.message), 1)
    return _line(kata, line, column, f"{text}{more}")


def _line(kata: KataReport, line: int, column: int, text: str) -> str:
    path = one_line(account.file_of(kata), LONGEST_FIELD)
    return f"{path}:{line}:{column}: error: {one_line(text, LONGEST_FIELD)}"


DOCUMENTS = [Document("problems.txt", render)]
