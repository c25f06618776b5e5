"""Laws tried on the reference: what raises there is a fault of the law, which a student would pay for."""

from __future__ import annotations

import warnings

import numpy as np

from grader.attempt import Prepared
from grader.authoring.places import place
from grader.catalog import Course
from grader.checks import CheckPlan, Session, Skip
from grader.expect import SubmissionFailed, Unmet
from grader.loading import line_of, told

TRIED = 8  # cases a law


def unsound_laws(course: Course, prepared: Prepared) -> list[str]:
    """One sentence for each law that raises something else than what it expects."""
    own = {law.name for law in prepared.kata.laws}
    session = Session(prepared.kata, prepared.oracle, prepared.oracle.reference)
    checks = [check for check in prepared.checks if check.name in own]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [(check, _raised(check, session)) for check in checks]
    path = prepared.card.path
    return [
        f"{place(course, path, line_of(error, path))}: the law `{check.name}` raises {told(error)} when the"
        " reference is judged; mend the law."
        for check, error in found
        if error is not None
    ]


def _raised(check: CheckPlan, session: Session) -> Exception | None:
    for case in check.cases[:TRIED]:
        try:
            check.judge(session, case)
        except (Unmet, SubmissionFailed, Skip):
            continue  # the law has spoken: it refuses the reference, which is told elsewhere
        except Exception as error:
            return error
    return None
