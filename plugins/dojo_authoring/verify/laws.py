"""Try the laws of a kata on the reference: none may raise, and none should make too many calls."""

from __future__ import annotations

import warnings

import numpy as np

from dojo_authoring.verify.locations import line_of_definition, place
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.course.catalog import Course
from grader.course.files import line_of, message_of
from grader.worker.calls import CaseFailed, KeptCalls, Skip

TRIED = 8  # cases per law
MANY_CALLS = 600  # that a law makes in a grading; these take about two seconds


def problems_of_laws(course: Course, prepared: PreparedKata) -> tuple[list[str], list[str]]:
    """Return a message for each law that raises an unexpected exception on the reference, and one for each
    that makes more than MANY_CALLS calls of a submission."""
    own, path = {law.name for law in prepared.kata.laws}, prepared.info.path
    unsound, costly = [], []
    for check in (check for check in prepared.checks if check.name in own):
        error, calls = _tried(check, prepared)
        if error is not None:
            unsound.append(
                f"{place(course, path, line_of(error, path))}: the law `{check.name}` raises"
                f" {message_of(error)} when the reference is judged; mend the law."
            )
        elif calls > MANY_CALLS:
            line = line_of_definition(path, f"test_{check.name}")
            costly.append(
                f"{place(course, path, line)}: the law `{check.name}` makes {calls:,} calls in every"
                " grading; draw fewer times, or draw many numbers in one call."
            )
    return unsound, costly


def _tried(check: Check, prepared: PreparedKata) -> tuple[Exception | None, int]:
    """Run a check on the first cases with the reference. Return an unexpected exception, and how many calls
    all cases make at this rate."""
    student, calls = prepared.oracle.reference, 0
    context, cases = CheckContext(prepared.kata, prepared.oracle, student), check.cases[:TRIED]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in cases:
            try:
                with KeptCalls(student) as made:
                    check.judge(context, case)
            except CaseFailed as failed:  # that a law refuses the reference is reported elsewhere
                if not (failed.is_refusal or isinstance(failed.why, Skip)):
                    return failed.why, 0
            calls += len(made)
    return None, calls * len(check.cases) // max(len(cases), 1)
