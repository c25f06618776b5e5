"""Render a report for Gradescope: `results.json`, with one plain-text test per check, numbered by kata.

A file that could not be read has no score, and then the submission has none: the host takes such a run for
one that failed, and leaves the points to the instructor. A 0 would count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from grader.formats import Document, account
from grader.report import CheckReport, KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import one_line, plain
from grader.texts.points import number, points

LONGEST_OUTPUT = 10_000


#: The variable with the visibility of the tests, and its values.
VARIABLE = "DOJO_VISIBILITY"
VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")


def render(report: Report, setting: Mapping[str, str] = os.environ) -> str:
    """Return the results as JSON. The total score is included, so that Gradescope does not add fractions."""
    report = legible(report)
    total = f"{points(report.score)} of {points(report.max_score)} points"
    unread = [kata.name for kata in report.katas if kata.unread]
    if unread:
        total = f"No points yet, since what was handed in could not be read: {', '.join(unread)}."
    shown = setting.get(VARIABLE, "")
    visibility = shown if shown in VISIBILITIES else VISIBILITIES[0]
    tests = [test for index, kata in enumerate(report.katas, 1) for test in _tests(kata, index)]
    results = {
        **({} if unread else {"score": number(report.score)}),
        "execution_time": round(sum(kata.seconds for kata in report.katas)),
        "output": plain("\n".join([total, *report.notes]), LONGEST_OUTPUT),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [{**test, "visibility": visibility} for test in tests],
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
    is_whole = account.verdict(check.status) == "pass" and check.score == check.max_score
    return "" if is_whole else account.of_check(check)


def _test(  # noqa: PLR0913  # the fields of the host's record, in its order
    kata: KataReport, name: str, place: str, status: str, score: int, max_score: int, text: str
) -> dict[str, Any]:
    return {
        "name": one_line(name),
        "number": place,
        **({} if kata.unread else {"score": number(score)}),
        "max_score": number(max_score),
        "status": "passed" if status in ("passed", "skipped") else "failed",
        "output": plain(text, LONGEST_OUTPUT),
        "output_format": "text",
        "tags": [kata.track],
    }


DOCUMENTS = [Document("results.json", render)]
