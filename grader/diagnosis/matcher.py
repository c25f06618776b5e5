"""Find the known mistake that explains a failed check.

Every known mistake was run on the same cases before, and its verdicts and answers were recorded
(`recording`). A mistake explains a failed check if its code fails exactly the cases that the submission
fails, each with the same verdict and the same answer to every call. It must not fail a case of a law, or of
agreement with the reference, that the submission passes. Two mistakes explain a check together if every
failing case agrees with one of them, and each agrees with a case that the other does not.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations

from grader.answer_keys.answers import Recorded, RecordedMistake
from grader.checks.builtin import agrees_with_reference
from grader.checks.questions import agrees, plain
from grader.checks.runner import CheckResult
from grader.diagnosis.similarity import ComparedFailure, RecordedFailure
from grader.kata import Kata
from grader.report import Mistake
from grader.values.arrays import distinct_values

BOTH = "There are two mistakes at once. One: {} The other: {}"


class MistakeMatcher:
    """Compares the failures of submissions with all known mistakes of a kata."""

    def __init__(self, mistakes: list[RecordedMistake]) -> None:
        self.mistakes = mistakes

    def name(self, results: list[CheckResult]) -> dict[str, Mistake]:
        """Return, by name of the check, the mistake that explains it best; unexplained checks are absent."""
        failed = [FailedCheck(result) for result in results if result.status in ("failed", "error")]
        candidates = [Candidate(mistake, results, failed) for mistake in self.mistakes]
        named = {}
        for check in failed:
            fitting = [candidate for candidate in candidates if candidate.may_be_named(check)]
            if fitting:
                best = max(fitting, key=lambda candidate: candidate.rank)
                named[check.name] = Mistake(best.mistake.id, best.mistake.text)
            elif pair := _best_pair(check, candidates):
                one, other = (candidate.mistake for candidate in pair)
                named[check.name] = Mistake(f"{one.id} and {other.id}", BOTH.format(one.text, other.text))
        return named


class FailedCheck:
    """One failed check of a submission, with its failures by the number of the case."""

    def __init__(self, result: CheckResult) -> None:
        self.name = result.check.name
        self.failures = {result.check.position(f.case): ComparedFailure(f) for f in result.failures}
        self._left_out = set(map(result.check.position, result.left_out))
        self._answers = [call.value for f in result.failures for call in f.trace if not call.error]
        first = result.failures[0] if result.failures else None
        self._was_empty = first.is_empty if isinstance(first, RecordedFailure) else None

    @cached_property
    def is_empty(self) -> bool:
        """True if every answer is NaN or all are the same number; many mistakes answer like that."""
        if self._was_empty is not None:
            return self._was_empty
        if any(isinstance(answer, str) for answer in self._answers) or not self._answers:
            return False
        values = distinct_values(self._answers)
        return values == {"nan"} or (len(self._answers) > 2 and len(values - {"nan"}) <= 1)

    def is_explained_by(self, outcomes: list[Recorded | None]) -> bool:
        """True if a mistake with these outcomes fails the same cases with the same verdicts and answers."""
        failing = self.failing(outcomes)
        if failing.keys() != self.failures.keys():
            return False
        return all(failure.matches(failing[number]) for number, failure in self.failures.items())

    def failing(self, outcomes: list[Recorded | None]) -> dict[int, Recorded]:
        """Return the cases that a mistake fails, by number, of those that the submission got."""
        return {number: out for number, out in _failing(outcomes).items() if number not in self._left_out}


def _failing(outcomes: list[Recorded | None]) -> dict[int, Recorded]:
    return {number: outcome for number, outcome in enumerate(outcomes) if outcome is not None}


class Candidate:
    """One mistake, compared with all check results of one submission."""

    def __init__(
        self, mistake: RecordedMistake, results: list[CheckResult], failed: list[FailedCheck]
    ) -> None:
        self.mistake, self._results, self._failed = mistake, results, failed
        self._explained: dict[str, bool] = {}

    def explains(self, check: FailedCheck) -> bool:
        """True if the mistake alone explains the check."""
        if check.name not in self._explained:
            outcomes = self.mistake.outcomes.get(check.name, [])
            self._explained[check.name] = check.is_explained_by(outcomes)
        return self._explained[check.name]

    def may_be_named(self, check: FailedCheck) -> bool:
        """True if the mistake explains the check and nothing speaks against it; if the answers are empty, it
        has to explain all other failed checks too."""
        if not self.explains(check) or self._fails_more:
            return False
        return not check.is_empty or all(map(self.explains, self._failed))

    @cached_property
    def _fails_more(self) -> bool:
        """True if the mistake fails a case of a law, or of agreement with the reference, that the submission
        passes. Built-in checks and corners do not count: they may fail for another reason."""
        for result in self._results:
            check = result.check
            if check.parameters is None and check.name != agrees_with_reference.__name__:
                continue
            passed = set(map(check.position, result.asked))
            passed -= {check.position(failure.case) for failure in result.failures}
            if _failing(self.mistake.outcomes.get(check.name, [])).keys() & passed:
                return True
        return False

    def part_of(self, check: FailedCheck) -> dict[int, bool]:
        """Return, by number of a case that the mistake fails, whether the submission's answers are the same.
        Empty if the mistake fails a case or a check that the submission passes."""
        failing = check.failing(self.mistake.outcomes.get(check.name, []))
        if not failing.keys() < check.failures.keys() or self._passes < len(self._passed):
            return {}
        return {number: check.failures[number].matches(outcome) for number, outcome in failing.items()}

    @cached_property
    def rank(self) -> tuple[int, int]:
        """The number of failed checks that it explains, and the number of passed checks that it passes."""
        return sum(map(self.explains, self._failed)), self._passes

    @cached_property
    def _passed(self) -> list[str]:
        return [result.check.name for result in self._results if result.status == "passed"]

    @cached_property
    def _passes(self) -> int:
        return sum(not any(self.mistake.outcomes.get(name, [])) for name in self._passed)


def _best_pair(check: FailedCheck, candidates: list[Candidate]) -> tuple[Candidate, Candidate] | None:
    """Return the two mistakes that cover all failing cases of the check and explain most of them."""
    parts = [
        (candidate, part) for candidate in candidates if any((part := candidate.part_of(check)).values())
    ]
    found = [
        (sum(one.values()) + sum(other.values()), (first, second))
        for (first, one), (second, other) in combinations(parts, 2)
        if one.keys() | other.keys() == check.failures.keys() and _each_is_needed(one, other)
    ]
    return max(found, key=lambda pair: pair[0], default=(0, None))[1]


def _each_is_needed(one: dict[int, bool], other: dict[int, bool]) -> bool:
    """True if each mistake has cases that only it fails, and the answers are the same in all of these."""
    alone = [
        [matches for number, matches in part.items() if number not in second]
        for part, second in ((one, other), (other, one))
    ]
    return all(cases and all(cases) for cases in alone)


class QuestionMatcher(MistakeMatcher):
    """Names the known mistake that gives the same wrong answer in the same row of numbers."""

    def name(self, results: list[CheckResult]) -> dict[str, Mistake]:
        """Return, by name of the check, the mistake that gives the same answers."""
        named = {}
        for result in results:
            found = next((m for m in self.mistakes if result.failures and _answers_alike(m, result)), None)
            if found:
                named[result.check.name] = Mistake(found.id, found.text)
        return named


def _answers_alike(mistake: RecordedMistake, result: CheckResult) -> bool:
    """True if the mistake fails the cases that the submission fails, with the same answers."""
    outcomes = mistake.outcomes.get(result.check.name, [])
    pairs = [(outcomes[result.check.position(f.case)] if outcomes else None, f) for f in result.failures]
    return all(
        theirs is not None
        and [call.error for call in failure.trace] == [()]
        and agrees(plain(theirs.answers[-1].value), plain(failure.trace[-1].value))
        for theirs, failure in pairs
    )


def matcher_of(kata: Kata, mistakes: list[RecordedMistake]) -> MistakeMatcher:
    """Return the matcher of a kata's mistakes."""
    return (QuestionMatcher if kata.questions else MistakeMatcher)(mistakes)
