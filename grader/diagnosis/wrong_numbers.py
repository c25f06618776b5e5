"""Find the known mistake that computes the first wrong numbers of a submission.

Where a submission has a mistake that is known and another one that is not, no known mistake answers like it.
But the first wrong array that it computes of right ones may be an array of the known mistake. This is then a
reason: with the rest as in the reference, these numbers make the same cases fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.answer_keys.answers import Case
from grader.cases.oracle import Oracle
from grader.checks.context import Check
from grader.diagnosis.known_mistakes import KnownMistake
from grader.diagnosis.parting import LEAST_CASES, Numbers, Parting, recorded_here, steps_in
from grader.diagnosis.recording import Array


def mistake_at(parting: Parting, mistakes: Iterable[KnownMistake], oracle: Oracle) -> KnownMistake | None:
    """Return the mistake that computes the wrong numbers of a place, in each of its cases, and fails these
    cases; None if there is none, or if there are several."""
    wrong = [(case, Numbers(array)) for case, array in parting.wrong]
    if len(wrong) < LEAST_CASES or not all(numbers.tells for _, numbers in wrong):
        return None
    found = [
        mistake
        for mistake in mistakes
        if mistake.changes and all(mistake.outcome(parting.check, case) for case, _ in wrong)
        if _computes(mistake, parting.check, wrong, oracle)
    ]
    least = [one for one in found if not any(other.changes < one.changes for other in found)]
    return least[0] if len(least) == 1 else None


def _computes(
    mistake: KnownMistake,
    check: Check,
    wrong: Sequence[tuple[Case, Numbers]],
    oracle: Oracle,
) -> bool:
    """Return whether there is one expression in the code of a mistake whose value is the submission's wrong
    array in every case."""
    context = recorded_here(mistake.source, oracle)
    common: set[int] | None = None
    for case, numbers in wrong:
        own = {step.site for step in steps_in(check, context, case) if _has(step.array, numbers)}
        common = own if common is None else common & own
        if not common:
            return False
    return True


def _has(array: Array | None, numbers: Numbers) -> bool:
    return array is not None and numbers.is_same(Numbers(array))
