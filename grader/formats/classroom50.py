"""Render a report for Classroom 50: `result.json` in the schema `classroom50/result/v1`.

Its scores are integers, so one point of the course is 100 there and nothing is rounded. The text for the
student, `release-body.md`, comes from `release_body`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from grader.formats import Document, account, release_body
from grader.formats.escaping import one_line
from grader.report import KataReport, Report
from grader.report_texts import legible

TYPES = ("individual", "group", "team")
LONGEST = 2_000


def render(report: Report, setting: Mapping[str, str] = os.environ) -> str:
    """Return the result as JSON. `setting` holds the host's variables about the submission: `CLASSROOM`,
    `ASSIGNMENT`, … and `DATETIME`, the time when it was handed in, by default now."""
    return json.dumps(result(legible(report), setting), indent=2, ensure_ascii=False) + "\n"


def result(report: Report, setting: Mapping[str, str]) -> dict[str, Any]:
    """Return the record that the host validates: no score exceeds its maximum, and the sums are right."""
    tests = [_test(kata) for kata in report.katas]
    kind = setting.get("ASSIGNMENT_TYPE", "")
    return {
        "schema": "classroom50/result/v1",
        "classroom": setting.get("CLASSROOM", ""),
        "assignment": setting.get("ASSIGNMENT", ""),
        "assignment_type": kind if kind in TYPES else TYPES[0],
        "owner": setting.get("OWNER") or setting.get("USERNAME", ""),
        "submission": setting.get("SUBMISSION_TAG", ""),
        "commit": setting.get("COMMIT_URL", ""),
        "release": setting.get("RELEASE_URL", ""),
        "review": setting.get("REVIEW_URL") or setting.get("COMMIT_URL", ""),
        "datetime": setting.get("DATETIME") or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def _test(kata: KataReport) -> dict[str, Any]:
    return {
        "test-name": kata.name,
        "passed": kata.status == "passed",
        "score": min(max(kata.score, 0), kata.max_score),
        "max-score": kata.max_score,
        "message": one_line(account.summary_of(kata), LONGEST),
    }


DOCUMENTS = [Document("result.json", render), Document("release-body.md", release_body.render)]
