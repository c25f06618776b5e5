"""From the first failing case to the smallest that Hypothesis finds."""

from __future__ import annotations

from grader import bank
from grader.checks import CheckPlan, Session, Skip
from grader.diagnosis import Suspect
from grader.judging import Failure, Finding, judge_case
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
        failure = _judge_anew(finding.plan, session, case)
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


def _judge_anew(check: CheckPlan, session: Session, case: dict[str, object]) -> Failure | None:
    """Judged by a session of its own, which remembers nothing of the bank."""
    try:
        return judge_case(check, Session(session.kata, session.oracle, session.student), case)
    except Skip:
        return None
