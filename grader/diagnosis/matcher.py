"""Find the known mistake that explains why a submission fails.

A mistake is asked the smallest case that the submission fails, and a few more while several give the same
answers. Only what still agrees runs whole checks: the failed ones, and those whose cases it must not fail. So
most mistakes make a single call.

A name is stated as a fact if the mistake fails the same cases as the submission, with the same answers, in
every failed check that compares answers, and on at least two cases. Two mistakes are facts together if each
failing case has the answers of one of them. A mistake that explains less is a guess. It is not shown if it
passes a case in which the submission gives a wrong value. Code that computes in float32 has no digits of a
mistake in float64: if nothing explains it, what explains all its cases in float32 is a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

from grader.answer_keys.answers import Case, Recorded
from grader.cases.state import EARLIER_CALLS
from grader.checks.builtin import BUILTIN, agrees_with_reference, has_the_right_gradients
from grader.checks.questions import agrees, plain
from grader.checks.runner import CheckResult
from grader.diagnosis.known_mistakes import ComparedFailure, KnownMistake, RecordedFailure
from grader.kata import Kata
from grader.report import Mistake
from grader.values.arrays import distinct_values, float_dtype

BOTH = "There are two mistakes at once. One: {} The other: {}"
ROUNDS = 4  # cases from which candidates are collected, since two mistakes can show in different cases
MORE_CASES = 3  # that candidates are asked if several agree on the first one
LEAST_CASES = 2  # that a mistake explains if it is stated as a fact
#: Built-in checks that compare answers; the others judge dtypes, memory and devices.
COMPARING = (agrees_with_reference.__name__, has_the_right_gradients.__name__)
#: Checks of one case each that make the calls on which a kept state depends.
OF_STATE = (EARLIER_CALLS, "answers_the_same_again")


class MistakeMatcher:
    """Compares the failures of submissions with all known mistakes of a kata."""

    def __init__(self, mistakes: Sequence[KnownMistake]) -> None:
        self.mistakes = mistakes

    def naming(self, results: Sequence[CheckResult], source: str = "") -> Naming:
        """Return a search for the mistakes that explain the results of one submission."""
        return Naming(self.mistakes, results, source)

    def name(self, results: Sequence[CheckResult], source: str = "") -> dict[str, Mistake]:
        """Return, by name of the check, the mistake that explains it best; unexplained checks are absent."""
        naming = self.naming(results, source)
        naming.run()
        return naming.found


class Naming:
    """The search for the mistakes of one submission. If `run` is stopped, `found` has what it has found so
    far: by name of the check, the mistake that explains it."""

    def __init__(self, mistakes: Sequence[KnownMistake], results: Sequence[CheckResult], source: str) -> None:
        self.found: dict[str, Mistake] = {}
        self._mistakes, self._results, self._source = mistakes, results, source
        failed = [FailedCheck(r, source) for r in results if r.failures and r.status in ("failed", "error")]
        self._failed = sorted(failed, key=lambda check: check.order)
        self._due = [check for check in self._failed if check.compares] or self._failed  # what is explained
        self._candidates: list[CandidateMistake] = []

    def run(self) -> None:
        """Find candidates by single cases, judge them, and name the best ones."""
        self._find()
        if not self.found and (rest := _without_float64(self._results)):
            in_float32 = Naming(self._mistakes, rest, self._source)
            in_float32._find()
            self.found = {name: replace(one, certain=False) for name, one in in_float32.found.items()}

    def _find(self) -> None:
        known: set[str] = set()
        for check, case in self._unexplained_cases():
            agreeing = [m for m in self._mistakes if m.id not in known and check.agrees(m, case)]
            agreeing = self._most_similar(check, case, agreeing)
            known |= {mistake.id for mistake in agreeing}
            self._candidates += [CandidateMistake(m, self._results, self._failed) for m in agreeing]
            self.found = self._names()
            if all(c.name in self.found and self.found[c.name].certain for c in self._failed if c.is_claim):
                return
        if not self.found and any(check.name in OF_STATE for check in self._failed):
            self._ask_in_order()

    def _ask_in_order(self) -> None:
        """Find candidates by whole checks: what an earlier call left behind shows in a later case only."""
        for mistake in self._mistakes:
            one = CandidateMistake(mistake, self._results, self._failed)
            if one.explains(self._due[0]):
                self._candidates.append(one)
                self.found = self._names()

    def _unexplained_cases(self) -> Iterator[tuple[FailedCheck, Case]]:
        """Yield the smallest case that no candidate explains, at most ROUNDS times: of the first check, and
        then of checks that were not asked yet, since the answers of one may rest on random numbers."""
        tried: dict[str, set[int]] = {check.name: set() for check in self._failed}
        for _ in range(ROUNDS):
            left = (
                (check, case)
                for check in sorted(self._failed, key=lambda check: len(tried[check.name]))
                for case in check.smallest_first
                if case.index not in tried[check.name]
                and not any(candidate.agrees_on(check, case) for candidate in self._candidates)
            )
            found = next(left, None)
            if found is None:
                return
            tried[found[0].name].add(found[1].index)
            yield found

    def _most_similar(
        self, check: FailedCheck, first: Case, mistakes: list[KnownMistake]
    ) -> list[KnownMistake]:
        """Return those of several mistakes that agree with the submission on most of a few more cases."""
        more = [case for case in check.smallest_first if case is not first]
        more = more[:: max(1, len(more) // MORE_CASES)][:MORE_CASES]
        if len(mistakes) < 2 or not more:
            return mistakes
        counts = [sum(check.agrees(mistake, case) for case in more) for mistake in mistakes]
        return [m for m, count in zip(mistakes, counts, strict=True) if count == max(counts)]

    def _names(self) -> dict[str, Mistake]:
        return self._facts() or self._guesses()

    def _facts(self) -> dict[str, Mistake]:
        """Return the names of one mistake, or else of two, that explain all that compares answers."""
        due = self._due
        possible = [one for one in self._candidates if not one.fails_more]
        for one in sorted(possible, key=lambda one: one.rank, reverse=True):
            if all(map(one.explains, due)) and one.cases >= LEAST_CASES:
                named = {c.name: one.as_mistake() for c in self._failed if one.may_be_named(c)}
                return self._of_the_rest(possible) | named
        for pair in combinations(possible, 2):
            if all(explained_by_both(check, *pair) for check in due) and all(
                one.alone(other, due) >= LEAST_CASES for one, other in (pair, pair[::-1])
            ):
                return {c.name: name for c in self._failed if (name := _name_of_pair(c, *pair))}
        return {}

    def _of_the_rest(self, possible: list[CandidateMistake]) -> dict[str, Mistake]:
        """Return the mistakes that explain a claim without values, such as a refusal that is due."""
        rest = [check for check in self._failed if check.is_claim and not check.compares]
        return {
            check.name: one.as_mistake()
            for check in rest
            for one in possible
            if one.explains(check) and one.agreements([check]) >= LEAST_CASES
        }

    def _guesses(self) -> dict[str, Mistake]:
        """Return the mistake that explains most, where nothing speaks against it."""
        named = {}
        possible = [one for one in self._candidates if not one.is_contradicted]
        for check in self._failed:
            fitting = [one for one in possible if one.is_possible(check)]
            if fitting:
                named[check.name] = max(fitting, key=lambda one: one.rank).as_mistake(certain=False)
        return named


def _without_float64(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results with the float64 cases left out. The list is empty unless some cases fail in float64
    and others fail in another dtype."""

    def is_kept(case: Case) -> bool:
        return float_dtype(case.arguments) != "float64"

    rest = [
        replace(
            result,
            failures=[failure for failure in result.failures if is_kept(failure.case)],
            asked=[case for case in result.asked if is_kept(case)],
            left_out=[*result.left_out, *(case for case in result.check.cases if not is_kept(case))],
        )
        for result in results
    ]
    before, after = (sum(len(result.failures) for result in some) for some in (results, rest))
    return rest if 0 < after < before else []


class FailedCheck:
    """One failed check of a submission, with its failures by the number of the case."""

    def __init__(self, result: CheckResult, source: str = "") -> None:
        self.check, self.name = result.check, result.check.name
        position = result.check.position
        self.failures = {position(f.case): ComparedFailure(f, source) for f in result.failures}
        self.has_values = {number for number, failure in self.failures.items() if failure.differs}
        self.left_out = set(map(position, result.left_out))
        self._result = result

    @property
    def compares(self) -> bool:
        """Whether a value differs or a call raises in agreement, a law, a corner or the gradients. A law that
        only misses an error speaks of another mistake."""
        return self.is_claim and any(f.differs or f.raises for f in self.failures.values())

    @property
    def is_claim(self) -> bool:
        """Whether the check is about answers and not about dtypes, memory and devices."""
        return self.name in COMPARING or self.name not in BUILTIN

    @property
    def order(self) -> int:
        """Where naming begins: with kept state, which shows in a single case of its own checks only; then
        with what compares answers."""
        return 0 if self.name in OF_STATE else 1 if self.compares else 2

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
        outcome = mistake.outcome(self.check, case)
        return outcome is not None and self.failures[self.check.position(case)].matches(outcome)

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

    def as_mistake(self, certain: bool = True) -> Mistake:
        """Return what the report says."""
        return Mistake(self.mistake.id, self.mistake.text, certain)

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
        return self.matching(check).get(check.check.position(case), False)

    def explains(self, check: FailedCheck) -> bool:
        """True if the mistake alone explains the check: the same cases fail, with the same answers."""
        found = self.matching(check)
        return found.keys() == check.failures.keys() and all(found.values())

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
            if check.parameters is None and check.name != COMPARING[0]:
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
        return any(check.has_values - self.matching(check).keys() for check in self._failed if check.compares)

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


def explained_by_both(check: FailedCheck, one: CandidateMistake, other: CandidateMistake) -> bool:
    """True if every failing case has the answers of one of two mistakes, and they fail no other case."""
    first, second = one.matching(check), other.matching(check)
    return first.keys() | second.keys() == check.failures.keys() and all(
        first.get(number) or second.get(number) for number in check.failures
    )


def _name_of_pair(check: FailedCheck, one: CandidateMistake, other: CandidateMistake) -> Mistake | None:
    """Return the one mistake that explains a check, or both if only both do."""
    for candidate in (one, other):
        if candidate.may_be_named(check):
            return candidate.as_mistake()
    if not explained_by_both(check, one, other):
        return None
    text = BOTH.format(one.mistake.text, other.mistake.text)
    return Mistake(f"{one.mistake.id} and {other.mistake.id}", text)


class QuestionMatcher(MistakeMatcher):
    """Names the known mistake that gives the same wrong answer in the same row of numbers."""

    def naming(self, results: Sequence[CheckResult], source: str = "") -> Naming:
        return NamingOfQuestions(self.mistakes, results, source)


class NamingOfQuestions(Naming):
    """The search for the mistakes of one page of answers."""

    def run(self) -> None:
        for result in self._results:
            found = next((m for m in self._mistakes if result.failures and _answers_alike(m, result)), None)
            if found:
                self.found[result.check.name] = Mistake(found.id, found.text)


def _answers_alike(mistake: KnownMistake, result: CheckResult) -> bool:
    """True if the mistake fails the cases that the submission fails, with the same answers."""
    pairs = ((mistake.outcome(result.check, f.case), f) for f in result.failures)
    return all(
        theirs is not None
        and [call.error for call in failure.trace] == [()]
        and agrees(plain(theirs.answers[-1].value), plain(failure.trace[-1].value))
        for theirs, failure in pairs
    )


def matcher_of(kata: Kata, mistakes: Sequence[KnownMistake]) -> MistakeMatcher:
    """Return the matcher of a kata's mistakes."""
    return (QuestionMatcher if kata.questions else MistakeMatcher)(mistakes)
