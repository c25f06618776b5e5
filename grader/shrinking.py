"""From the first failing case to the smallest: of the bank, then of all that Hypothesis finds."""

from __future__ import annotations

from grader import bank
from grader.checks import Session
from grader.diagnosis import Suspect
from grader.judging import Failure, Finding, failure_of
from grader.worker.remote import WorkerLost

SMALL, ROUND = 6, 10.0  # how many numbers, and how far from round, need no shrinking


def put_smallest_first(finding: Finding, suspect: Suspect | None) -> None:
    """Of the bank's failing cases show the smallest that fails as the first one does, and by the same mistake
    where one is named. The first is often a pinned example, printed in a paper and larger than it must be."""
    failures = finding.failures
    explained = suspect.explained(finding) if suspect else {id(failure.case) for failure in failures}
    alike = [f for f in failures if id(f.case) in explained and _fails_alike(f, failures[0])]
    smallest = min(alike, key=lambda failure: finding.plan.weight(failure.case), default=failures[0])
    failures.sort(key=lambda failure: failure is not smallest)


def shrink(finding: Finding, suspect: Suspect | None, session: Session, seed: int) -> None:
    """Put the smallest failing case in front, if it is smaller. It must fail as the first one does,
    and by the same mistake where one is named."""
    first, draw = finding.failures[0], finding.plan.draw
    numbers, unevenness = bank.weight(first.case)
    if draw is None or (numbers <= SMALL and unevenness < ROUND):
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
