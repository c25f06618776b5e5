"""Check each law on the reference: an exception there is a fault of the law, not of a submission."""

from __future__ import annotations

import warnings

import numpy as np

from grader.authoring.source_locations import place
from grader.checks.base import Check, CheckContext, PreparedKata, Skip
from grader.course.catalog import Course
from grader.course.loading import line_of, told
from grader.expect import ExpectationFailed, SubmissionFailed

TRIED = 8  # cases per law


def unsound_laws(course: Course, prepared: PreparedKata) -> list[str]:
    """Return a message for each law that raises an unexpected exception on the reference."""
    own = {law.name for law in prepared.kata.laws}
    session = CheckContext(prepared.kata, prepared.oracle, prepared.oracle.reference)
    checks = [check for check in prepared.checks if check.name in own]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [(check, _raised(check, session)) for check in checks]
    path = prepared.info.path
    return [
        f"{place(course, path, line_of(error, path))}: the law `{check.name}` raises {told(error)} when the"
        " reference is judged; mend the law."
        for check, error in found
        if error is not None
    ]


def _raised(check: Check, session: CheckContext) -> Exception | None:
    for case in check.cases[:TRIED]:
        try:
            check.judge(session, case)
        except (ExpectationFailed, SubmissionFailed, Skip):
            continue  # the law works; that it refuses the reference is reported elsewhere
        except Exception as error:
            return error
    return None
