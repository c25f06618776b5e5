"""Render a report for Gradescope: `results.json`, with one plain-text test per check, numbered by kata."""

from __future__ import annotations

import json
from typing import Any

from grader.formats import Document, account
from grader.formats.escaping import number, one_line, plain, points
from grader.report import CheckReport, KataReport, Report
from grader.report_texts import legible

LONGEST = 10_000


def render(report: Report) -> str:
    """Return the results as JSON. The total score is included, so that Gradescope does not add fractions."""
    report = legible(report)
    results = {
        "score": number(report.score),
        "execution_time": round(sum(kata.seconds for kata in report.katas)),
        "output": f"{points(report.score)} of {points(report.max_score)} points",
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [test for index, kata in enumerate(report.katas, 1) for test in _tests(kata, index)],
        "extra_data": {"device": report.device},
    }
    return json.dumps(results, indent=2, ensure_ascii=False) + "\n"


def _tests(kata: KataReport, index: int) -> list[dict[str, Any]]:
    if not kata.checks:
        return [_test(kata, kata.name, str(index), kata.status, 0, kata.max_score, account.summary_of(kata))]
    return [
        _test(
            kata,
            account.title_of(kata, check),
            f"{index}.{place}",
            check.status,
            check.score,
            check.max_score,
            _told(check),
        )
        for place, check in enumerate(kata.checks, 1)
    ]


def _told(check: CheckReport) -> str:
    return "" if account.verdict(check.status) == "pass" else account.of_check(check)


def _test(
    kata: KataReport, name: str, place: str, status: str, score: int, max_score: int, told: str
) -> dict[str, Any]:
    return {
        "name": one_line(name),
        "number": place,
        "score": number(score),
        "max_score": number(max_score),
        "status": "passed" if status in ("passed", "skipped") else "failed",
        "output": plain(told, LONGEST),
        "output_format": "text",
        "tags": [kata.track],
        "visibility": "visible",
    }


DOCUMENTS = [Document("results.json", render)]
