"""From the first failing case to the smallest that Hypothesis finds."""

from __future__ import annotations

from grader import bank
from grader.checks import Session
from grader.diagnosis import Suspect
from grader.judging import Failure, Finding, failure_of
from grader.worker.remote import WorkerLost

SMALL = 6  # numbers in a case that needs no shrinking


def shrink(finding: Finding, suspect: Suspect | None, session: Session, seed: int) -> None:
    """Put the smallest failing case in front, if it is smaller. It must fail as the first one does,
    and by the same mistake where one is named."""
    first, draw = finding.failures[0], finding.plan.draw
    if draw is None or bank.weight(first.case)[0] <= SMALL:
        return
    found: list[Failure] = []

    def fails(case: dict[str, object]) -> bool:
        failure = failure_of(finding.plan, session.anew(), case)
        if failure is None or not _fails_alike(failure, first):
            return False
        if suspect is not None and not suspect.explains_case(finding.plan, failure):
            return False
        if not found or bank.weight(case) <= bank.weight(found[0].case):
            found[:] = [failure]
        return True

    try:
        bank.shrink(draw, fails, session.kata.bank_size, seed)
    except WorkerLost:
        return
    if found and bank.weight(found[0].case) < bank.weight(first.case):
        finding.failures.insert(0, found[0])


def _fails_alike(failure: Failure, first: Failure) -> bool:
    return failure.status == first.status and bool(failure.difference) == bool(first.difference)
