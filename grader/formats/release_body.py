"""Render the text that Classroom 50 shows to the student, `release-body.md`, from the job summary."""

from __future__ import annotations

from dataclasses import replace

from grader.formats import summary
from grader.report import Report

MOST = 60_000  # bytes; GitHub takes a release of 125,000 characters
LONGEST = 4_000  # the most characters for one check
ORDER = {"failed": 0, "error": 0, "waiting": 1, "not_started": 2, "passed": 3}


def render(report: Report) -> str:
    """Return the summary with what did not pass first, cut to the size that a release can have."""
    katas = tuple(sorted(report.katas, key=lambda kata: ORDER[kata.status]))
    return summary.render(replace(report, katas=katas), MOST, LONGEST)
