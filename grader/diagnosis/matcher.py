"""Which mistake explains what came back.

A mistake explains a failed check if, asked the same, it fails the same cases with the same verdict
and the same answer to every call, and passes the others. Two mistakes explain it together if each is
seen alone on cases of its own and no case is left. What mistakes answer is recorded beforehand
(`recorded_mistakes`).
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations

from grader.answer_keys.answers import Recorded, RecordedMistake
from grader.checks.runner import CheckResult
from grader.diagnosis.similarity import ComparedFailure
from grader.report import Mistake
from grader.values.arrays import distinct_values

BOTH = "There are two mistakes at once. One: {} The other: {}"


class MistakeMatcher:
    """All mistakes of a kata, against which each submission that fails is held."""

    def __init__(self, mistakes: list[RecordedMistake]) -> None:
        self.mistakes = mistakes

    def name(self, findings: list[CheckResult]) -> dict[str, Mistake]:
        """For each failed check that a mistake explains, the mistake that explains it best."""
        failed = [FailedCheck(finding) for finding in findings if finding.status in ("failed", "error")]
        suspects = [Candidate(mistake, findings, failed) for mistake in self.mistakes]
        named = {}
        for check in failed:
            fitting = [suspect for suspect in suspects if suspect.may_be_named(check)]
            if fitting:
                best = max(fitting, key=lambda suspect: suspect.rank)
                named[check.name] = Mistake(best.mistake.id, best.mistake.text)
            elif pair := _pair(check, suspects):
                one, other = (suspect.mistake for suspect in pair)
                named[check.name] = Mistake(f"{one.id} and {other.id}", BOTH.format(one.text, other.text))
        return named


class FailedCheck:
    """One failed check of a submission: its failing cases by their number, ready to be compared."""

    def __init__(self, finding: CheckResult) -> None:
        self.name = finding.plan.name
        order = finding.plan.positions
        self.failures = {order[id(f.case)]: ComparedFailure(f) for f in finding.failures}
        self._answers = [call.value for f in finding.failures for call in f.trace if not call.error]

    @cached_property
    def is_empty(self) -> bool:
        """True if nothing came back but NaN, or one number time and again: many mistakes answer that."""
        if any(isinstance(answer, str) for answer in self._answers) or not self._answers:
            return False
        values = distinct_values(self._answers)
        return values == {"nan"} or (len(self._answers) > 2 and len(values - {"nan"}) <= 1)

    def is_explained_by(self, outcomes: list[Recorded | None]) -> bool:
        """True if the same cases fail, each with the same verdict after the same answers."""
        failing = _failing(outcomes)
        if failing.keys() != self.failures.keys():
            return False
        return all(theirs.alike(failing[number]) for number, theirs in self.failures.items())


def _failing(outcomes: list[Recorded | None]) -> dict[int, Recorded]:
    return {number: outcome for number, outcome in enumerate(outcomes) if outcome is not None}


class Candidate:
    """One mistake, confronted with everything that was found about one submission."""

    def __init__(
        self, mistake: RecordedMistake, findings: list[CheckResult], failed: list[FailedCheck]
    ) -> None:
        self.mistake, self._findings, self._failed = mistake, findings, failed
        self._explained: dict[str, bool] = {}

    def explains(self, check: FailedCheck) -> bool:
        """True if the mistake explains the whole check."""
        if check.name not in self._explained:
            outcomes = self.mistake.outcomes.get(check.name, [])
            self._explained[check.name] = check.is_explained_by(outcomes)
        return self._explained[check.name]

    def may_be_named(self, check: FailedCheck) -> bool:
        """True if the mistake explains the check, and all the others too where the answers are empty."""
        return self.explains(check) and (not check.is_empty or all(map(self.explains, self._failed)))

    def part_of(self, check: FailedCheck) -> dict[int, bool]:
        """By failing case of the mistake, whether the submission answers the same there; nothing where the
        mistake fails a case that the submission passes."""
        failing = _failing(self.mistake.outcomes.get(check.name, []))
        if not failing.keys() < check.failures.keys() or self._passes < len(self._passed):
            return {}
        return {number: check.failures[number].alike(mine) for number, mine in failing.items()}

    @cached_property
    def rank(self) -> tuple[int, int]:
        """How many of the failed checks it explains, and how many of the passed ones it passes."""
        return sum(map(self.explains, self._failed)), self._passes

    @cached_property
    def _passed(self) -> list[str]:
        return [finding.plan.name for finding in self._findings if finding.status == "passed"]

    @cached_property
    def _passes(self) -> int:
        return sum(not any(self.mistake.outcomes.get(name, [])) for name in self._passed)


def _pair(check: FailedCheck, suspects: list[Candidate]) -> tuple[Candidate, Candidate] | None:
    """The two mistakes that explain most cases of the check, one by one, and leave none to others."""
    parts = [(suspect, part) for suspect in suspects if any((part := suspect.part_of(check)).values())]
    found = [
        (sum(one.values()) + sum(other.values()), (first, second))
        for (first, one), (second, other) in combinations(parts, 2)
        if one.keys() | other.keys() == check.failures.keys() and _each_alone(one, other)
    ]
    return max(found, key=lambda pair: pair[0], default=(0, None))[1]


def _each_alone(one: dict[int, bool], other: dict[int, bool]) -> bool:
    """True if each mistake has cases to itself, and all of them look like it."""
    alone = [
        [alike for number, alike in part.items() if number not in beside]
        for part, beside in ((one, other), (other, one))
    ]
    return all(cases and all(cases) for cases in alone)
