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
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import combinations, islice

from grader.answer_keys.answers import Case
from grader.checks.runner import CheckResult
from grader.course.general_mistakes import GENERAL
from grader.diagnosis.candidate import LEAST_CASES, CandidateMistake, FailedCheck
from grader.diagnosis.known_mistakes import KnownMistake
from grader.diagnosis.several_mistakes import Joined, Probe, SeveralMistakes, join, options_of
from grader.kata import Kata
from grader.kinds import Kind, Questions
from grader.report import Mistake
from grader.texts.sentences import at_once
from grader.values.arrays import float_dtype
from grader.values.constants import agrees, plain

MOST_REASONS = 12  # mistakes that are asked whether they explain a part
ROUNDS = 4  # cases from which candidates are collected, since two mistakes can show in different cases
MOST_SHOWN = 12  # cases among which one is sought that shows a mistake
MORE_CASES = 3  # that candidates are asked if several agree on the first one


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
        self.shown: dict[str, set[int]] = {}  # by check, the positions of cases that show the mistake
        self._mistakes, self._results, self._source = mistakes, results, source
        failed = [FailedCheck(r, source) for r in results if r.failures and r.status in ("failed", "error")]
        self._failed = sorted(failed, key=lambda check: check.order)
        self._due = [check for check in self._failed if check.compares] or self._failed  # what is explained
        self._candidates: list[CandidateMistake] = []

    def run(self) -> None:
        """Find candidates by single cases, judge them, and name the best ones; then several at once."""
        self._find()
        if not self.is_explained and self._due:
            several = self._search()
            self._find_reasons(several.likely)
            self._find_several(several.found())
        if not self.found and (rest := _without_float64(self._results)):
            in_float32 = Naming(self._mistakes, rest, self._source)
            in_float32._find()
            self.found = {name: replace(one, certain=False) for name, one in in_float32.found.items()}

    def run_from(self, known: KnownMistake) -> None:
        """Find the mistakes that explain all together with one that is known to be there."""
        self._find_several(self._search().found_with(known))

    def _search(self) -> SeveralMistakes:
        """Return the search for several mistakes at once. It joins those that were written for this kata."""
        own = [one for one in self._mistakes if one.changes or one.id not in GENERAL]
        return SeveralMistakes(own, self._due, self._unexplained)

    def _find(self) -> None:
        known: set[str] = set()
        for check, case in self._unexplained_cases():
            agreeing = [m for m in self._mistakes if m.id not in known and check.agrees(m, case)]
            agreeing = self._most_similar(check, case, agreeing)
            known |= {mistake.id for mistake in agreeing}
            self._candidates += [CandidateMistake(m, self._results, self._failed) for m in agreeing]
            self.found = self._names()
            if self.is_explained:
                return
        if self._due and not any(mistake.certain for mistake in self.found.values()):
            self._ask_in_order()

    @property
    def is_explained(self) -> bool:
        """Whether every failed claim has a name that is certain, and explains all of it."""
        return all(
            self._is_certain(c) and not self.found[c.name].partial
            for c in self._failed
            if c.check.nature.compares
        )

    def _find_several(self, search: Iterator[list[Joined]]) -> None:
        """Find mistakes that explain together what no single one does, unless a single one is a fact."""
        if all(map(self._is_certain, self._due)) and not any(m.partial for m in self.found.values()):
            return
        for several in search:
            facts = [joined for joined in several if self._explains_all(self._judged(joined.whole))]
            facts.sort(key=lambda one: sum(map(self._judged(one.whole).explains, self._failed)), reverse=True)
            if names := next(filter(None, map(self._names_of, facts)), {}):
                rest = {name: one for name, one in self.found.items() if one.certain and not one.partial}
                self.found = rest | names
                return

    def _explains_all(self, one: CandidateMistake) -> bool:
        """Return whether a mistake explains all that compares answers, and fails nothing else."""
        return one.explains_all(self._due) and not one.fails_more  # which asks all that it passes

    def _names_of(self, joined: Joined) -> dict[str, Mistake]:
        """Return the names by check of several mistakes that explain all; none if one of them is not needed
        for some cases."""
        joined = self._with_least(joined)
        whole = self._judged(joined.whole)
        parts = [Needed(self._judged(part), self._rest(joined, part), whole) for part in joined.parts]
        if not all(part.is_proved(self._failed) for part in parts):
            return {}
        parts.sort(key=lambda part: part.points(self._failed), reverse=True)
        return self._by_check(whole, parts)

    def _find_reasons(self, likely: Sequence[KnownMistake]) -> None:
        """Name the mistakes that explain a part of what fails, where nothing explains all: each of them fails
        nothing else, and no other one explains as much of that part. One that answers otherwise in single
        calls than among others may explain all."""
        judged = [self._judged(mistake) for mistake in likely[:MOST_REASONS]]
        self._candidates += [one for one in judged if self._explains_all(one)]
        if facts := self._facts():
            self.found = facts
            return
        parts = parts_of(self._due)
        reasons = [Reason(one, parts) for one in judged]
        reasons = [reason for reason in reasons if reason.cases and reason.is_consistent]
        taken: set[Position] = set()
        for reason in sorted(reasons, key=lambda reason: len(reason.cases), reverse=True):
            new = reason.cases - taken
            rivals = (other for other in reasons if other is not reason and new <= other.cases)
            if len(new) < LEAST_CASES or not all(reason.is_less_than(rival) for rival in rivals):
                continue
            taken |= new
            for check in self._failed:
                shown = {number for name, number in new if name == check.name}
                if shown and not self._is_certain(check):
                    self.found[check.name] = reason.one.as_mistake(partial=True)
                    self.shown[check.name] = shown

    def _is_certain(self, check: FailedCheck) -> bool:
        return check.name in self.found and self.found[check.name].certain

    def _unexplained(self, mistake: KnownMistake) -> list[tuple[FailedCheck, Case]]:
        """Return failing cases that a mistake does not answer like the submission: those of the checks that
        compare answers, and if there are none, those of the others."""
        one = self._judged(mistake)
        return one.unanswered(self._due) or one.unanswered(self._failed)

    def _judged(self, mistake: KnownMistake) -> CandidateMistake:
        return CandidateMistake(mistake, self._results, self._failed)

    def _rest(self, joined: Joined, part: KnownMistake) -> CandidateMistake:
        """Return what several mistakes are without one of them."""
        rest = join(tuple(one for one in joined.parts if one is not part))
        return self._judged(rest.whole if rest else joined.whole)

    def _with_least(self, joined: Joined) -> Joined:
        """Return several mistakes that change least and explain the same: the sentence about a further change
        would not be proved."""
        for at, part in enumerate(joined.parts):
            for less in (one for one in self._mistakes if one.changes and one.changes < part.changes):
                other = join((*joined.parts[:at], less, *joined.parts[at + 1 :]))
                if other and self._explains_all(self._judged(other.whole)):
                    return self._with_least(other)
        return joined

    def _by_check(self, whole: CandidateMistake, parts: list[Needed]) -> dict[str, Mistake]:
        """Return a name for each check that several mistakes explain. What one explains alone has its name.
        Each of the others gets a check with cases that only it fails. What is left has the name of the first
        one, or those of all that have no check."""
        found: dict[str, Mistake] = {}
        self.shown = {}
        for check in self._failed:
            alone = next((part.alone for part in parts if part.alone.may_be_named(check)), None)
            if alone is not None:
                found[check.name] = alone.as_mistake()
        shared = [check for check in self._failed if check.name not in found and whole.may_be_named(check)]
        own = {mistake.id for mistake in found.values()}
        lacking = [part for part in parts if part.alone.mistake.id not in own]
        for part in list(lacking):
            others = [other.alone for other in parts if other is not part]
            left = ((c, part.cases_alone(c, others)) for c in shared if c.name not in found)
            for check, only in islice(((check, only) for check, only in left if only), 1):
                found[check.name], self.shown[check.name] = part.alone.as_mistake(), only
                lacking.remove(part)
        for check in shared:
            if check.name not in found:
                named = lacking or parts[:1]
                found[check.name] = _at_once([part.alone for part in named])
                self.shown[check.name] = _shown_by(check, named, parts)
        return found

    def _ask_in_order(self) -> None:
        """Find candidates by whole checks, among the mistakes that keep values from call to call. If the same
        call gives two answers, those that draw random numbers are asked too."""
        is_unsteady = any(check.check.nature.of_state for check in self._failed)
        for mistake in self._mistakes:
            if not (mistake.keeps_values or (is_unsteady and mistake.draws_itself)):
                continue
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
        explaining = (one for one in self._candidates if one.explains_all(due))
        alone = [one for one in explaining if one.cases >= LEAST_CASES and not one.fails_more]
        if alone:
            best = alone[0] if len(alone) == 1 else max(alone, key=lambda one: one.rank)
            named = {c.name: best.as_mistake() for c in self._failed if best.may_be_named(c)}
            return self._of_the_rest() | named
        for pair in combinations(sorted(self._candidates, key=lambda one: len(one.mistake.changes)), 2):
            if (
                all(any(one.may_explain(check) for one in pair) for check in due)  # quick to ask
                and all(explained_by_both(check, *pair) for check in due)
                and all(one.alone(other, due) >= LEAST_CASES for one, other in (pair, pair[::-1]))
                and not any(one.fails_more for one in pair)  # last, since it runs all checks
            ):
                return self._of_pair(*pair)
        return {}

    def _of_pair(self, *pair: CandidateMistake) -> dict[str, Mistake]:
        """Return the names of two mistakes that explain all together. If one of them explains a check alone,
        what only both explain has the name of the other, or else of the first, with cases that show it."""
        found = {c.name: name for c in self._failed if (name := _name_of_pair(c, *pair))}
        alone = {name.id for name in found.values()} & {one.mistake.id for one in pair}
        for check in self._failed if alone else ():
            if check.name in found and found[check.name].id not in alone:
                one, other = sorted(pair, key=lambda one: one.mistake.id in alone)
                theirs = other.matching(check)
                only = {
                    number for number, same in one.matching(check).items() if same and not theirs.get(number)
                }
                found[check.name], self.shown[check.name] = one.as_mistake(), only
                alone.add(one.mistake.id)
        return found

    def _of_the_rest(self) -> dict[str, Mistake]:
        """Return the mistakes that explain a claim without values, such as a refusal that is due."""
        rest = [check for check in self._failed if check.check.nature.compares and not check.compares]
        return {
            check.name: one.as_mistake()
            for check in rest
            for one in self._candidates
            if one.explains(check) and one.agreements([check]) >= LEAST_CASES and not one.fails_more
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


Position = tuple[str, int]  # the name of a check, and the position of a case


def parts_of(due: Iterable[FailedCheck]) -> list[dict[Position, Probe]]:
    """Return the failing cases of each kind of call, which may have a reason of its own. Kinds differ in the
    arguments that are given, and in whether the call raises. What a check asks is no kind: its calls can be
    such that two mistakes answer them alike."""
    kinds: dict[object, dict[Position, Probe]] = {}
    for check in due:
        for case in check.smallest_first:
            number = check.check.position(case)
            kind = options_of(case.arguments), check.failures[number].raises
            kinds.setdefault(kind, {})[check.name, number] = check, case
    return [part for part in kinds.values() if len(part) >= LEAST_CASES]


class Reason:
    """A mistake with the failing cases of the parts that it explains."""

    def __init__(self, one: CandidateMistake, parts: Iterable[dict[Position, Probe]]) -> None:
        self.one = one
        explained = (part for part in parts if all(one.matching_on(*probe) for probe in part.values()))
        self.cases = frozenset[Position]().union(*explained)

    @property
    def is_consistent(self) -> bool:
        """Whether the mistake fails no case that the submission passes."""
        return not self.one.fails_more and not self.one.fails_beside

    def is_less_than(self, rival: Reason) -> bool:
        """Return whether another mistake explains the cases by a further change."""
        return self.one.mistake.changes < rival.one.mistake.changes


@dataclass(frozen=True)
class Needed:
    """One of several mistakes, `alone`, the `rest` of them, and the `whole`, which explains all. A few of the
    smallest cases say where it is needed."""

    alone: CandidateMistake
    rest: CandidateMistake
    whole: CandidateMistake

    def is_proved(self, due: Iterable[FailedCheck]) -> bool:
        """Whether there are enough failing cases that need it. The only case of a check is enough."""
        needing = ((check, case) for check in due for case in check.smallest_first if self.needs(check, case))
        found = 0
        for check, _ in needing:
            found += LEAST_CASES if len(check.check.cases) == 1 else 1
            if found >= LEAST_CASES:
                return True
        return False

    def needs(self, check: FailedCheck, case: Case) -> bool:
        """Return whether a case needs this mistake: all together answer it like the submission, and the rest
        does not. What the rest does after the last call of the submission does not count."""
        if not self.whole.agrees_on(check, case) or self.rest.matching_on(check, case):
            return False
        left = self.rest.mistake.outcome(check.check, case)
        return left is None or not check.failures[check.check.position(case)].is_outrun_by(left)

    def cases_alone(self, check: FailedCheck, others: Sequence[CandidateMistake]) -> set[int]:
        """Return the position of the smallest case that fails by this mistake alone; nothing if none does."""
        smallest = (
            case
            for case in check.smallest_first[:MOST_SHOWN]
            if self.alone.matching_on(check, case)
            and all(other.matching_on(check, case) is None for other in others)
        )
        return {check.check.position(case) for case in islice(smallest, 1)}

    def points(self, failed: Iterable[FailedCheck]) -> tuple[int, int]:
        """Return the points of the checks that would pass without the mistake, and of those that it fails."""
        checks = list(failed)
        regained = sum(check.check.points for check in checks if not self.rest.fails_any(check))
        return regained, sum(check.check.points for check in checks if self.alone.fails_any(check))


def _shown_by(check: FailedCheck, named: Sequence[Needed], parts: Iterable[Needed]) -> set[int]:
    """Return the position of the smallest case that shows some of several mistakes; nothing if none does."""
    if len(named) == 1:
        others = [part.alone for part in parts if part is not named[0]]
        if only := named[0].cases_alone(check, others):
            return only
    smallest = (
        case for case in check.smallest_first[:MOST_SHOWN] if all(part.needs(check, case) for part in named)
    )
    return {check.check.position(case) for case in islice(smallest, 1)}


def _at_once(several: Sequence[CandidateMistake]) -> Mistake:
    """Return some mistakes as one."""
    if len(several) == 1:
        return several[0].as_mistake()
    text = at_once([one.mistake.text for one in several])
    return Mistake(" and ".join(one.mistake.id for one in several), text)


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
    return _at_once([one, other]) if explained_by_both(check, one, other) else None


class ConstantMatcher(MistakeMatcher):
    """Names the known mistake that gives the same wrong answer in the same row of numbers."""

    def naming(self, results: Sequence[CheckResult], source: str = "") -> Naming:
        return NamingOfConstants(self.mistakes, results, source)


class NamingOfConstants(Naming):
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
    return _matcher_of_kind(kata.kind, mistakes)


@singledispatch
def _matcher_of_kind(_: Kind, mistakes: Sequence[KnownMistake]) -> MistakeMatcher:
    """Return the matcher of a kind of kata."""
    return MistakeMatcher(mistakes)


@_matcher_of_kind.register(Questions)
def _(_: Questions, mistakes: Sequence[KnownMistake]) -> MistakeMatcher:
    return ConstantMatcher(mistakes)
