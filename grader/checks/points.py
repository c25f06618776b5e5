"""What each check of a submission earns, from the results of all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from grader.answer_keys.answers import Case
from grader.cases.generation import fingerprint
from grader.cases.trivial import parts_of
from grader.checks.builtin import BUILTIN, agrees_with_reference
from grader.checks.context import CheckContext
from grader.checks.parts import JudgedParts
from grader.checks.runner import CheckResult
from grader.kata import Arguments
from grader.values.arrays import float_dtype, leaves, to_numpy
from grader.values.comparison import first_difference, plain_dtype

Row = np.ndarray[Any, Any]  # numbers as float64, on one axis

NEAR = 0.5  # of a case's points at most, for a wrong answer that is near
FULL_FROM = 3  # from one right answer in so many on, what holds counts in full
NEARLY = 2 / 3  # of a right one, for that share, is a wrong one that is as near as can be
WHOLE = 50  # hundredths: what is earned by a submission that fails is rounded down to half points
ROUNDING = 1e-9
ENTRY = 1e-5  # the largest difference of an entry that is right
SAME = 1e-9  # of the sum of squares: what is less is rounding
BY_CHANCE = 1.5  # standard errors by which shared cases may hold more often than the seed's own
NOT_BY_CHANCE = 3  # so many times that, from which on shared cases count no more than the seed's own
MOST_WITHOUT_PURPOSE = 70  # percent of a kata's points while a check fails that holds its purpose


class Earned(NamedTuple):
    """The hundredths that a check earns, and why they are fewer than it is worth although it does not
    fail."""

    points: int
    why: str = ""


class Points(NamedTuple):
    """What each check earns, by its name, and why it is not more than a part of all points; empty if it may
    be all."""

    checks: dict[str, Earned]
    cap: str = ""

    @property
    def total(self) -> int:
        """All hundredths that are earned."""
        return sum(one.points for one in self.checks.values())


def points_of(
    results: Sequence[CheckResult], context: CheckContext, parts: JudgedParts | None = None
) -> Points:
    """Return what each check earns: its points in proportion to the cases that hold, and all of them in
    proportion to how much is right if that is little. `parts` are those of a submission of which some are not
    written."""
    if not any(result.failures for result in results):
        return Points({result.check.name: points_of_check(result, parts=parts) for result in results})
    answers = ComparedAnswers(context, results)
    weight, why = _weight(results, answers)
    found = {result.check.name: points_of_check(result, weight, why, answers, parts) for result in results}
    return _capped(results, _rounded(results, found))


def share_of(cases: Sequence[Case], count: Callable[[Sequence[Case]], float], usual: float = 0.0) -> float:
    """Return which share of cases counts, from 0 to 1, where `count` returns that of some of them. It is the
    share of the cases that all seeds have, so that points do not hang on the seed; but at most BY_CHANCE
    above that of the seed's own cases, and less where it is so far above that a table of the answers to the
    former must be the reason. What chance does is known from the own cases of these and from the `usual`
    share of the own cases of all checks: where some of these hold, none of a few is chance."""
    shared, own = halves(cases)
    if not shared or not own:
        return count(cases)
    of_own = count(own)
    above = count(shared) - of_own
    variance = max(share * max(1 - share, 0) for share in (of_own, usual))
    by_chance = BY_CHANCE * math.sqrt(variance * (1 / len(shared) + 1 / len(own)))
    if above > 0:
        above = max(0.0, min(above, by_chance, NOT_BY_CHANCE * by_chance - above))
    return of_own + above


def halves(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Return the cases that all seeds have, and the seed's own."""
    return [case for case in cases if case.is_shared], [case for case in cases if not case.is_shared]


def _rounded(results: Sequence[CheckResult], found: dict[str, Earned]) -> dict[str, Earned]:
    """Return what checks earn, together rounded down to WHOLE, so that a case more or less seldom changes the
    points. The rest is taken from the checks that fail, and then from those that count in part."""
    failing = {result.check.name for result in results if result.failures}
    partly = [name for name, one in found.items() if name in failing or one.why == FEW_CASES_AGREE]
    rest = sum(one.points for one in found.values()) % WHOLE
    return _taken(found, rest, sorted(partly, key=lambda name: (name not in failing, -found[name].points)))


def _taken(found: dict[str, Earned], points: int, order: list[str], why: str = "") -> dict[str, Earned]:
    """Return what checks earn after so many points are taken from them, in this order."""
    kept = dict(found)
    for name in order:
        taken = min(points, kept[name].points)
        kept[name] = Earned(kept[name].points - taken, why or kept[name].why) if taken else kept[name]
        points -= taken
    return kept


def points_of_check(
    result: CheckResult,
    weight: float = 1,
    why: str = "",
    answers: ComparedAnswers | None = None,
    parts: JudgedParts | None = None,
) -> Earned:
    """Return what a check earns if each of its cases counts with a `weight`, for the reason `why`. With
    `answers`, its wrong cases count as far as they are near the right ones. A check that fails never earns
    all of its points."""
    check, usual = result.check, answers.usual if answers else 0.0
    holds = float(result.status != "failed")
    if result.asked:
        holds = share_of(result.asked, lambda some: _holding(result, some, answers), usual)
    worth = parts.share(check.name, check.points) if parts else check.points
    points = min(int(worth * holds * weight + ROUNDING), worth - bool(result.failures))
    return Earned(max(points, 0), why or (parts.message(check.name) if parts else ""))


def _holding(result: CheckResult, cases: Sequence[Case], answers: ComparedAnswers | None) -> float:
    """Return which share of these cases holds, where one that is wrong counts as far as it is near."""
    wrong = {failure.case.index for failure in result.failures}
    near = answers.nearness if answers and result.check.nature.of_agreement else None
    parts_of = [NEAR * near(case) for case in cases if case.index in wrong] if near else []
    return (sum(case.index not in wrong for case in cases) + sum(parts_of)) / len(cases)


def _capped(results: Sequence[CheckResult], found: dict[str, Earned]) -> Points:
    """Return what checks earn: at most MOST_WITHOUT_PURPOSE of all points if a check fails that holds the
    purpose of the kata. What is too much is taken from the checks that earn most, so that the points of the
    checks still add up to those of the kata."""
    missed = next((result.check for result in results if result.failures and result.check.purpose), None)
    worth = sum(result.check.points for result in results)
    most = worth * MOST_WITHOUT_PURPOSE // 100
    excess = Points(found).total - most
    if missed is None or excess <= 0:
        return Points(found)
    cap = f"At most {most / 100:g} points while this fails, which the kata is about: {missed.title}"
    kept = _taken(found, excess, sorted(found, key=lambda name: -found[name].points), cap)
    return Points(kept, cap)


NOTHING_AGREES = "No points: no answer equals the reference's."
ONLY_TRIVIAL = (
    "No points: the answers are right only where zeros, a constant or an argument handed back is right too."
)
FEW_CASES_AGREE = "Counts in part: fewer than a third of the answers are right or near it."
NOT_COMPARED = "No points yet: another check fails, and nothing could be compared with the reference."


def _weight(results: Sequence[CheckResult], answers: ComparedAnswers) -> tuple[float, str]:
    """Return with what weight the cases of all checks count, from 0 to 1, and why it is not 1. It is 1 from a
    third of right answers on, so that what holds of any answer, such as its shape, gives no points to one
    that is wrong."""
    agreement = results[0]
    if agreement.check.name not in BUILTIN:  # a kata of questions, in which each answer counts by itself
        return 1, ""
    if not agreement.asked:  # it waits for a part that is not written
        return 0, NOT_COMPARED
    cases = [case for case in agreement.check.cases if not answers.context.leaves_out(case)]
    # an answer that is right everywhere is no constant, though a few cases may all expect one value
    constant = most_of_a_constant(answers, halves(cases)[0] or cases) if agreement.failures else 0.0
    weight = min(
        1.0, FULL_FROM * share_of(cases, lambda some: how_right(answers, some, constant), answers.usual)
    )
    if weight:
        return weight, FEW_CASES_AGREE if weight < 1 else ""
    return 0, ONLY_TRIVIAL if len(agreement.failures) < len(agreement.asked) else NOTHING_AGREES


class ComparedAnswers:
    """The answers of a submission to the kata's cases, beside the reference's."""

    def __init__(self, context: CheckContext, results: Sequence[CheckResult]) -> None:
        self.context, self.telling = context, context.oracle.telling
        self._seen = {case.index: values for case, values in context.answers()}
        # what was answered in a worker that was lost is known from the results alone
        compared = [result for result in results if result.check.judge is agrees_with_reference]
        self._right = {case.index for r in compared if not context.parts for case in r.asked} - {
            failure.case.index for result in compared for failure in result.failures
        }
        self._near: dict[int, float] = {}  # by the index of a case, which several checks may have
        self._results = results

    @cached_property
    def usual(self) -> float:
        """The share of the seed's own cases that hold, over all checks that compare."""
        compared = [result for result in self._results if result.check.nature.of_agreement]
        own = [(result, halves(result.asked)[1]) for result in compared]
        held = sum(len(cases) * _holding(result, cases, self) for result, cases in own if cases)
        return held / max(sum(len(cases) for _, cases in own), 1)

    def agrees(self, case: Case, name: str) -> bool:
        """Return whether a value is right."""
        expected, seen = self.context.oracle.expected(case), self._seen.get(case.index, {})
        if case.index in self._right or name not in seen:
            return case.index in self._right
        tolerance = case.precision.tolerance(self.context.kata.roundings)
        dtype = plain_dtype(float_dtype(expected.native))
        return not first_difference(expected.exact[name], seen[name], tolerance, dtype)

    def value(self, case: Case, name: str) -> Any:
        """Return a value; None if there is none."""
        return self._seen.get(case.index, {}).get(name)

    def nearness(self, case: Case) -> float:
        """Return how near a wrong answer is to the right one, from 0 to 1: the mean over its values."""
        if case.index not in self._near:
            found = [
                1.0 if self.agrees(case, name) else nearness(wanted, self.value(case, name), case.arguments)
                for name, wanted in self.telling(case).items()
            ]
            self._near[case.index] = sum(found) / max(len(found), 1)
        return self._near[case.index]


def most_of_a_constant(answers: ComparedAnswers, cases: Sequence[Case]) -> float:
    """Return the share of the cases in which the expected value is the one that is right most often."""
    right: dict[str, Counter[bytes]] = {}
    told = [(case, name, wanted) for case in cases for name, wanted in answers.telling(case).items()]
    for case, name, wanted in told:
        if answers.agrees(case, name):
            right.setdefault(name, Counter())[fingerprint({name: wanted})] += 1
    return sum(max(found.values()) for found in right.values()) / max(len(told), 1)


def how_right(answers: ComparedAnswers, cases: Sequence[Case], constant: float) -> float:
    """Return which share of the answers to plain cases is right, from 0 to 1, where one that is near counts
    as NEARLY right. What a trivial answer gets right does not count, nor does the share of a `constant`: it
    is right where it is what is expected."""
    single: dict[str, list[tuple[Any, Any]]] = {}
    right, near, told = 0, 0.0, 0
    for case in cases:
        for name, wanted in answers.telling(case).items():
            told += 1
            if answers.agrees(case, name):
                right += 1
            elif _is_a_number(wanted):
                single.setdefault(name, []).append((wanted, answers.value(case, name)))
            else:
                near += nearness(wanted, answers.value(case, name), case.arguments)
    near += sum(len(pairs) * _nearness_of_numbers(pairs) for pairs in single.values())
    return max(0.0, right / max(told, 1) - constant) + NEARLY * near / max(told, 1)


def _is_a_number(value: Any) -> bool:
    row = _numbers(value)
    return row is not None and row.size == 1


def _nearness_of_numbers(pairs: list[tuple[Any, Any]]) -> float:
    """Return the nearness of an answer that is one number in each case, over the cases where it is wrong."""
    return nearness([wanted for wanted, _ in pairs], [have for _, have in pairs], {})


def nearness(expected: Any, got: Any, given: Arguments) -> float:
    """Return how much of what is expected an answer has beyond what is trivial, from 0 to 1: either of the
    entries, where the most frequent number or an argument handed back have nothing, or of the variance, where
    sums of multiples of the arguments have nothing."""
    wanted, have = _numbers(expected), _numbers(got)
    if wanted is None or have is None or have.size != wanted.size:
        return 0.0
    known = (_numbers(part) for part in parts_of(given))
    arguments = [row for row in known if row is not None and row.size == have.size]
    with np.errstate(all="ignore"):  # squares of large numbers overflow
        return max(_of_entries(wanted, have, arguments), _of_variance(*_finite([wanted, have, *arguments])))


def _of_entries(wanted: Row, have: Row, arguments: list[Row]) -> float:
    """Return the share of right entries beyond those that a trivial answer has right."""
    trivial = [np.full(wanted.size, _most_frequent(wanted)), *arguments]
    most = max(_right_entries(wanted, row) for row in trivial)
    return max(0.0, (_right_entries(wanted, have) - most) / (1 - most)) if most < 1 else 0.0


def _right_entries(wanted: Row, have: Row) -> float:
    return float(np.isclose(wanted, have, rtol=ENTRY, atol=ENTRY, equal_nan=True).mean())


def _most_frequent(row: Row) -> float:
    values, counts = np.unique(row, return_counts=True)
    return float(values[counts.argmax()])


def _of_variance(wanted: Row, have: Row, *arguments: Row) -> float:
    """Return the coefficient of determination beyond what is linear in the arguments."""
    columns = np.stack([np.ones(wanted.size), *arguments], axis=1)
    try:
        fitted = columns @ np.linalg.lstsq(columns, wanted, rcond=None)[0]
    except np.linalg.LinAlgError:  # the numbers are too large for it
        return 0.0
    unexplained = float(((wanted - fitted) ** 2).sum())
    if not unexplained > SAME * float((wanted**2).sum()):
        return 0.0
    return max(0.0, 1 - float(((wanted - have) ** 2).sum()) / unexplained)


def _finite(rows: list[Row]) -> list[Row]:
    """Return rows of numbers without infinite ones: these stand as far beyond what the first row holds as it
    reaches, and NaN in its middle."""
    finite = rows[0][np.isfinite(rows[0])]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    reach = high - low or 1.0
    return [np.nan_to_num(row, nan=(low + high) / 2, posinf=high + reach, neginf=low - reach) for row in rows]


def _numbers(value: Any) -> Row | None:
    """Return the numbers of a value in a row, as float64; None if it holds anything else."""
    parts = [to_numpy(leaf) for leaf in leaves(value)]
    if not parts or any(part is None or part.dtype.kind not in "fiub" for part in parts):
        return None
    return np.concatenate([np.asarray(part, np.float64).reshape(-1) for part in parts])
