"""GitHub Classroom's autograding actions: a step's output `result`, which the grading reporter reads.

The reporter adds up `score` for its annotation, so that partial credit counts there. Its table counts
tests that pass. It prints `test_code`, so that is where the student reads what does not hold.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from grader.formats import account
from grader.formats.escaping import logged, number, one_line
from grader.report import KataReport, Report
from grader.report_texts import legible

FILE = "classroom.txt"
LARGEST = 90 * 1024  # bytes of JSON: it travels, as base64, in one string of the environment
LIMITS = (4_000, 2_000, 1_000, 500, 200, 40, 1)  # characters of one kata's account, till all fit


def render(report: Report) -> str:
    """The line that goes to `$GITHUB_OUTPUT`."""
    encoded = base64.b64encode(_fitting(legible(report)).encode()).decode()
    return f"result={encoded}\n"


def _fitting(report: Report) -> str:
    texts = (json.dumps(result(report, limit), ensure_ascii=False) for limit in LIMITS)
    return next((text for text in texts if len(text.encode()) <= LARGEST), json.dumps(result(report, 1)))


def result(report: Report, limit: int = LIMITS[0]) -> dict[str, Any]:
    """The reporter's record, a test a kata. Scores are such that adding them up, in their order and in
    floating point, gives each sum to the hundredth."""
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
        "tests": tests or [_nothing()],
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


def _nothing() -> dict[str, Any]:
    """A list without tests makes the reporter divide by zero."""
    told = "No kata was graded."
    place = {"filename": "", "line_no": 0, "duration": 0}
    return {"name": told, "status": "error", "score": 0, "message": told, "test_code": "", **place}


def _status(report: Report) -> str:
    verdicts = {account.verdict(kata.status) for kata in report.katas} or {"error"}
    return next(word for word in ("error", "fail", "pass") if word in verdicts)
