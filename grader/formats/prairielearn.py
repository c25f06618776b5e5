"""Render a report for PrairieLearn: `results.json`.

If no file could be graded, or one could not be read, the result is marked as not gradable, and the student
loses no attempt.
"""

from __future__ import annotations

import json
from typing import Any

from grader.formats import Document, account
from grader.report import CheckReport, KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import one_line, plain
from grader.texts.points import number, points

LARGEST_RESULT = 1_000_000  # bytes; the host rejects larger files
LIMITS = (10_000, 2_000, 500, 100, 1)  # characters for one check, tried until the JSON fits


def render(report: Report) -> str:
    """Return the results as JSON; the texts about checks are cut if the file would be too large."""
    report = legible(report)
    texts = (json.dumps(results(report, limit), ensure_ascii=False) + "\n" for limit in LIMITS)
    return next(
        (text for text in texts if len(text.encode()) <= LARGEST_RESULT), json.dumps(results(report, 1))
    )


def results(report: Report, limit: int = LIMITS[0]) -> dict[str, Any]:
    """Return the host's record, in which `score` is the fraction of the points from 0 to 1."""
    gradable = any(k.status != "error" for k in report.katas) and not any(k.unread for k in report.katas)
    problems = [one_line(kata.message, 500) for kata in report.katas if kata.status == "error"]
    return {
        "gradable": gradable,
        "score": report.score / report.max_score if gradable and report.max_score else 0.0,
        "message": f"{points(report.score)} of {points(report.max_score)} points",
        "output": "",
        "format_errors": [] if gradable else problems,
        "tests": [test for kata in report.katas for test in _tests(kata, limit)] if gradable else [],
    }


def _tests(kata: KataReport, limit: int) -> list[dict[str, Any]]:
    if not kata.checks:
        text = plain(account.summary_of(kata), limit)
        return [_test(kata.name, "", 0, kata.max_score, text, "")]
    return [
        _test(
            account.title_of(kata, check),
            kata.track,
            check.score,
            check.max_score,
            plain(account.explanation(check), limit),
            _told(check, limit),
        )
        for check in kata.checks
    ]


def _told(check: CheckReport, limit: int) -> str:
    return "" if account.verdict(check.status) == "pass" else plain(account.of_check(check), limit)


def _test(
    name: str, description: str, score: int, max_score: int, message: str, output: str
) -> dict[str, Any]:
    return {
        "name": one_line(name),
        "description": description,
        "points": number(score),
        "max_points": number(max_score),
        "message": message,
        "output": output,
    }


DOCUMENTS = [Document("results.json", render)]
