"""Render a report for GitHub Classroom: the step output `result`, which its grading reporter reads.

The reporter adds up `score` for its annotation, so partial credit counts there; its table counts the tests
that pass. It prints `test_code`, so this field tells the student which checks do not hold. It needs a score
for each kata, so there is no result if a file could not be read: the step fails, and no points are shown.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from grader.formats import Document, account
from grader.report import KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import logged, one_line
from grader.texts.points import number

LARGEST_RESULT = 90 * 1024  # bytes of JSON, which is passed as base64 in one environment variable
LIMITS = (4_000, 2_000, 1_000, 500, 200, 40, 1)  # characters for one kata, tried until the JSON fits


def render(report: Report) -> str | None:
    """Return the line for the file `$GITHUB_OUTPUT`; None if a file could not be read."""
    if any(kata.unread for kata in report.katas):
        return None
    encoded = base64.b64encode(_fitting(legible(report)).encode()).decode()
    return f"result={encoded}\n"


def _fitting(report: Report) -> str:
    texts = (json.dumps(result(report, limit), ensure_ascii=False) for limit in LIMITS)
    return next(
        (text for text in texts if len(text.encode()) <= LARGEST_RESULT), json.dumps(result(report, 1))
    )


def result(report: Report, limit: int = LIMITS[0]) -> dict[str, Any]:
    """Return the reporter's record, with one test per kata. Each score is the difference to the sum so far,
    so that adding them up in floating point gives exact hundredths."""
    tests, sum_so_far, hundredths = [], 0.0, 0
    for kata in report.katas:
        hundredths += kata.score
        score = hundredths / 100 - sum_so_far
        sum_so_far += score
        tests.append(_test(kata, score, limit))
    return {
        "version": 1,
        "status": _status(report),
        "max_score": number(report.max_score),
        "tests": tests or [_empty_test()],
    }


def _test(kata: KataReport, score: float, limit: int) -> dict[str, Any]:
    status = account.verdict(kata.status)
    return {
        "name": kata.name,
        "status": status,
        "score": int(score) if score.is_integer() else score,
        "message": "" if status == "pass" else logged(one_line(account.summary_of(kata), min(limit, 500))),
        "test_code": logged(account.of_kata(kata), limit),
        "filename": account.file_of(kata),
        "line_no": account.line_of(kata.message),
        "duration": round(kata.seconds, 3),
    }


def _empty_test() -> dict[str, Any]:
    """Return a test for a report without katas; without any test the reporter divides by zero."""
    text = "No kata was graded."
    place = {"filename": "", "line_no": 0, "duration": 0}
    return {"name": text, "status": "error", "score": 0, "message": text, "test_code": "", **place}


def _status(report: Report) -> str:
    verdicts = {account.verdict(kata.status) for kata in report.katas} or {"error"}
    return next(word for word in ("error", "fail", "pass") if word in verdicts)


DOCUMENTS = [Document("classroom.txt", render, channel="GITHUB_OUTPUT")]
