"""Render a report as the result of an Exercism test runner, version 3, which has no points."""

from __future__ import annotations

import json
from typing import Any

from grader.formats import Document, account
from grader.report import CheckReport, KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import one_line, plain

LONGEST_OUTPUT = 500  # the most characters of a test's output


def render(report: Report) -> str:
    """Return the results as JSON. The status is `error`, without tests, if no file could be graded."""
    report = legible(report)
    problems = [plain(kata.message) for kata in report.katas if kata.status == "error"]
    tests = [test for index, kata in enumerate(report.katas, 1) for test in _tests(kata, index)]
    nothing_ran = bool(problems) and not any(kata.checks for kata in report.katas)
    passed = all(test["status"] == "pass" for test in tests)
    results = {
        "version": 3,
        "status": "error" if nothing_ran else "pass" if passed and tests else "fail",
        "message": "\n".join(problems) if nothing_ran else None,
        "tests": [] if nothing_ran else tests,
    }
    return json.dumps(results, indent=2, ensure_ascii=False) + "\n"


def _tests(kata: KataReport, task: int) -> list[dict[str, Any]]:
    if not kata.checks:
        text = plain(account.summary_of(kata))
        return [_test(kata.name, account.verdict(kata.status), text, kata, "", task)]
    return [_of_check(kata, check, task) for check in kata.checks]


def _of_check(kata: KataReport, check: CheckReport, task: int) -> dict[str, Any]:
    status = account.verdict(check.status)
    text = "" if status == "pass" else plain(account.of_check(check))
    return _test(account.title_of(kata, check), status, text, kata, plain(check.call or ""), task)


def _test(name: str, status: str, text: str, kata: KataReport, called: str, task: int) -> dict[str, Any]:
    shows_output = status != "pass" and kata.output
    return {
        "name": one_line(name),
        "status": status,
        "message": None if status == "pass" else text,
        "output": plain(kata.output, LONGEST_OUTPUT) if shows_output else None,
        "test_code": called,
        "task_id": task,
    }


DOCUMENTS = [Document("results.json", render)]
