"""Compare a known mistake with the failures of a submission: on single cases, on whole checks, and on all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from grader.answer_keys.answers import Case, Recorded
from grader.checks.builtin import agrees_with_reference
from grader.checks.runner import CheckResult
from grader.diagnosis.compared_failures import ComparedFailure, RecordedFailure
from grader.diagnosis.known_mistakes import KnownMistake
from grader.report import Mistake
from grader.values.arrays import distinct_values

LEAST_CASES = 2  # that a mistake explains if it is stated as a fact


class FailedCheck:
    """One failed check of a submission, with its failures by the number of the case."""

    def __init__(self, result: CheckResult, source: str = "") -> None:
        self.check, self.name = result.check, result.check.name
        position = result.check.position
        self.failures = {position(f.case): ComparedFailure(f, source) for f in result.failures}
        self.has_values = {number for number, failure in self.failures.items() if failure.differs}
        self.left_out = set(map(position, result.left_out))
        self._result = result
        self.asked: set[int] = set()  # the positions of cases of which mistakes were asked
        self._agreeing: dict[tuple[str, int], bool] = {}  # by mistake and position

    @property
    def compares(self) -> bool:
        """Whether a value differs or a call raises in agreement, a law, a corner or the gradients. A law that
        only misses an error speaks of another mistake."""
        return self.check.nature.compares and any(f.differs or f.raises for f in self.failures.values())

    @property
    def order(self) -> int:
        """Where naming begins: with kept state, which shows in a single case of its own checks only; then
        with what compares answers; last with what counts operations, which takes many times as long."""
        if self.check.nature.of_state:
            return 0
        if any(failure.counts_work for failure in self.failures.values()):
            return 3
        return 1 if self.compares else 2

    @cached_property
    def smallest_first(self) -> list[Case]:
        """The failing cases, those that are easy to read first."""
        return sorted((f.case for f in self._result.failures), key=lambda case: case.weight)

    @cached_property
    def is_empty(self) -> bool:
        """True if every answer is NaN or all are the same number; many mistakes answer like that."""
        first = self._result.failures[0] if self._result.failures else None
        if isinstance(first, RecordedFailure):
            return first.is_empty
        answers = [call.value for f in self._result.failures for call in f.trace if not call.error]
        if any(isinstance(answer, str) for answer in answers) or not answers:
            return False
        values = distinct_values(answers)
        return values == {"nan"} or (len(answers) > 2 and len(values - {"nan"}) <= 1)

    def agrees(self, mistake: KnownMistake, case: Case) -> bool:
        """True if a mistake fails one of the failing cases as the submission does."""
        key = mistake.id, self.check.position(case)
        if key not in self._agreeing:
            self.asked.add(key[1])
            self._agreeing[key] = mistake.fails_like(self.failures[key[1]], self.check, case)
        return self._agreeing[key]

    def closeness(self, mistake: KnownMistake, case: Case) -> int:
        """Return on how many wrong numbers a mistake agrees with the submission in a failing case."""
        return mistake.closeness(self.failures[self.check.position(case)], self.check, case)

    def is_explained_by(self, outcomes: list[Recorded | None]) -> bool:
        """True if a mistake with these outcomes fails the same cases with the same verdicts and answers."""
        failing = self.failing(outcomes)
        return failing.keys() == self.failures.keys() and self.is_reproduced_by(outcomes)

    def is_reproduced_by(self, outcomes: list[Recorded | None]) -> bool:
        """True if a mistake with these outcomes fails all failing cases with the same answers, and perhaps
        others."""
        failing = self.failing(outcomes)
        return failing.keys() >= self.failures.keys() and all(
            failure.matches(failing[number]) for number, failure in self.failures.items()
        )

    def failing(self, outcomes: list[Recorded | None]) -> dict[int, Recorded]:
        """Return the cases that a mistake fails, by number, of those that the submission got."""
        return {number: out for number, out in _failing(outcomes).items() if number not in self.left_out}


def _failing(outcomes: list[Recorded | None]) -> dict[int, Recorded]:
    return {number: outcome for number, outcome in enumerate(outcomes) if outcome is not None}


class CandidateMistake:
    """One mistake, compared with all check results of one submission."""

    def __init__(
        self, mistake: KnownMistake, results: Sequence[CheckResult], failed: list[FailedCheck]
    ) -> None:
        self.mistake, self._results, self._failed = mistake, results, failed
        self._matching: dict[str, dict[int, bool]] = {}

    def as_mistake(self, *, certain: bool = True, partial: bool = False) -> Mistake:
        """Return what the report says."""
        return Mistake(self.mistake.id, self.mistake.text, certain, partial)

    def matching(self, check: FailedCheck) -> dict[int, bool]:
        """Return, by number of a case that the mistake fails, whether the submission answers the same."""
        if check.name not in self._matching:
            failing, theirs = check.failing(self.mistake.outcomes(check.check)), check.failures
            self._matching[check.name] = {
                number: number in theirs and theirs[number].matches(outcome)
                for number, outcome in failing.items()
            }
        return self._matching[check.name]

    def agrees_on(self, check: FailedCheck, case: Case) -> bool:
        """True if the mistake fails this case as the submission does."""
        return bool(self.matching_on(check, case))

    def matching_on(self, check: FailedCheck, case: Case) -> bool | None:
        """Return whether the mistake answers one failing case like the submission; None if it passes the
        case. Only this case is asked, unless the mistake keeps values or draws: then the whole check runs,
        since an answer depends on the calls before it."""
        number = check.check.position(case)
        if self.mistake.keeps_values or self.mistake.draws_itself:
            return self.matching(check).get(number)
        outcome = self.mistake.outcome(check.check, case)
        return None if outcome is None else check.failures[number].matches(outcome)

    def fails_any(self, check: FailedCheck) -> bool:
        """True if the mistake fails a case of a check that the submission fails too."""
        return any(self.matching_on(check, case) is not None for case in check.smallest_first)

    def unanswered(self, checks: Iterable[FailedCheck]) -> list[tuple[FailedCheck, Case]]:
        """Return the smallest failing case of each check to which the mistake answers otherwise than the
        submission. A check without such a case is left out. The smallest of all comes first."""
        cases = ((c, (case for case in c.smallest_first if not self.agrees_on(c, case))) for c in checks)
        found = [(check, case) for check, left in cases if (case := next(left, None)) is not None]
        return sorted(found, key=lambda pair: pair[1].weight)

    def explains(self, check: FailedCheck) -> bool:
        """True if the mistake alone explains the check: the same cases fail, with the same answers."""
        if not self.may_explain(check):
            return False
        found = self.matching(check)
        return found.keys() == check.failures.keys() and all(found.values())

    def may_explain(self, check: FailedCheck) -> bool:
        """True if the mistake fails the smallest case as the submission does, which is quick to ask."""
        return all(self.agrees_on(check, case) for case in check.smallest_first[:1])

    def explains_all(self, checks: Sequence[FailedCheck]) -> bool:
        """True if the mistake explains all of some checks."""
        return all(map(self.may_explain, checks)) and all(map(self.explains, checks))

    def reproduces(self, check: FailedCheck) -> bool:
        """True if it fails all failing cases with the same answers, and perhaps others."""
        return all(self.matching(check).get(number, False) for number in check.failures)

    def may_be_named(self, check: FailedCheck) -> bool:
        """True if the mistake explains the check. If the answers are empty, it has to explain all others."""
        return self.explains(check) and (not check.is_empty or all(map(self.explains, self._failed)))

    def is_possible(self, check: FailedCheck) -> bool:
        """True if the mistake explains the check, or explains all of them and fails more than the submission:
        the submission may have a condition around it."""
        if not self.fails_more and not self.fails_beside and self.may_be_named(check):
            return True
        due = [c for c in self._failed if c.compares]
        return (
            check in due
            and not check.is_empty
            and self.cases >= LEAST_CASES
            and all(map(self.reproduces, due))
        )

    @cached_property
    def fails_more(self) -> bool:
        """True if the mistake fails a case of a law, or of agreement with the reference, that the submission
        passes. Built-in checks and corners do not count: they may fail for another reason."""
        for result in self._results:
            check = result.check
            if check.parameters is None and check.judge is not agrees_with_reference:
                continue
            passed = set(map(check.position, result.asked))
            passed -= {check.position(failure.case) for failure in result.failures}
            if passed and _failing(self.mistake.outcomes(check)).keys() & passed:
                return True
        return False

    @cached_property
    def fails_beside(self) -> bool:
        """True if the mistake fails a case of a failed check that the submission passes there."""
        return any(self.matching(c).keys() - c.failures.keys() for c in self._failed if c.compares)

    @cached_property
    def is_contradicted(self) -> bool:
        """True if the mistake passes a case in which the submission gives a wrong value."""
        return any(
            self.matching_on(check, case) is None
            for check in self._failed
            if check.compares
            for case in check.smallest_first
            if check.check.position(case) in check.has_values
        )

    @cached_property
    def cases(self) -> int:
        """On how many failing cases the mistake agrees with the submission."""
        return self.agreements(self._failed)

    def alone(self, other: CandidateMistake, due: Iterable[FailedCheck]) -> int:
        """Return on how many failing cases the mistake agrees, and another one does not fail."""
        return self.agreements(due, other)

    def agreements(self, checks: Iterable[FailedCheck], other: CandidateMistake | None = None) -> int:
        """Count the cases of some checks on which the mistake agrees, and another one does not fail. The only
        case of a check counts as enough: its author has chosen it to tell mistakes apart."""
        found = 0
        for check in checks:
            others = other.matching(check) if other else {}
            agreeing = sum(same for number, same in self.matching(check).items() if number not in others)
            found += LEAST_CASES if agreeing and len(check.check.cases) == 1 else agreeing
        return found

    @cached_property
    def rank(self) -> tuple[int, int, int]:
        """The number of failed checks that it explains, of passed checks that it passes too, and of cases on
        which it agrees."""
        passed = [result.check for result in self._results if result.status == "passed"]
        passes = sum(not any(self.mistake.outcomes(check)) for check in passed)
        return sum(map(self.explains, self._failed)), passes, self.cases
