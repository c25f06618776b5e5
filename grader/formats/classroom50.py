"""Render a report for Classroom 50: `result.json` in the schema `classroom50/result/v1`.

Its scores are integers, so one point of the course is 100 there and nothing is rounded. The text that the
student reads is `release-body.md`, from the job summary. A test cannot be without a score, so there is no
result if a file could not be read: the host then shows an error, of 0 points from 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from grader.formats import Document, account, summary
from grader.report import KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import one_line

TYPES = ("individual", "group", "team")
LONGEST_MESSAGE = 2_000
LARGEST_RESULT = 60_000  # bytes; GitHub takes a release of 125,000 characters
LONGEST_CHECK = 4_000  # the most characters for one check
ORDER = {"failed": 0, "error": 0, "waiting": 1, "not_started": 2, "passed": 3}


def render(report: Report, setting: Mapping[str, str] = os.environ) -> str | None:
    """Return the result as JSON; None if a file could not be read. `setting` holds the host's variables about
    the submission: `CLASSROOM`, `ASSIGNMENT`, … and `DATETIME`, the time when it was handed in, by default
    now."""
    if any(kata.unread for kata in report.katas):
        return None
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
        "message": one_line(account.summary_of(kata), LONGEST_MESSAGE),
    }


def release_body(report: Report) -> str:
    """Return the summary with what did not pass first, cut to the size that a release can have."""
    katas = tuple(sorted(report.katas, key=lambda kata: ORDER[kata.status]))
    return summary.render(replace(report, katas=katas), LARGEST_RESULT, LONGEST_CHECK)


DOCUMENTS = [Document("result.json", render), Document("release-body.md", release_body)]
