"""What each check of a submission earns, from the results of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from grader.answer_keys.answers import Case
from grader.checks.base import CheckContext
from grader.checks.builtin import BUILTIN, agrees_with_reference
from grader.checks.parts import JudgedParts
from grader.checks.runner import CheckResult
from grader.kata import Arguments
from grader.values.arrays import float_dtype, leaves, to_numpy
from grader.values.comparison import Tolerance, first_difference, plain_dtype

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
    """Return what each check earns. `parts` are those of a submission of which some are not written."""
    free = unearned(results, context)
    names = [result.check.name for result in results]
    found = [points_of_check(result, free.get(result.check.name, ""), parts) for result in results]
    return _capped(results, dict(zip(names, found, strict=True)))


def points_of_check(result: CheckResult, why: str = "", parts: JudgedParts | None = None) -> Earned:
    """Return what a check earns, if `why` does not say that it gives nothing although it does not fail."""
    check = result.check
    if result.failures:
        return Earned(0)
    if why:
        return Earned(0, why)
    if parts is not None:
        return Earned(parts.share(check.name, check.points), parts.message(check.name))
    return Earned(0 if result.status == "failed" else check.points)


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
    kept = dict(found)
    for name in sorted(kept, key=lambda name: -kept[name].points):
        taken = min(excess, kept[name].points)
        kept[name] = Earned(kept[name].points - taken, cap) if taken else kept[name]
        excess -= taken
    return Points(kept, cap)


FEW_CASES_AGREE = (
    "Checks such as shape and dtype give no points here: fewer than a quarter of the answers are right."
)
NOTHING_AGREES = "No points: no answer equals the reference's."
ONLY_TRIVIAL = (
    "No points: the answers are right only where zeros, a constant or an argument handed back is right too."
)
NOT_COMPARED = "No points yet: another check fails, and nothing could be compared with the reference."


def unearned(results: Sequence[CheckResult], context: CheckContext) -> dict[str, str]:
    """Return, by check, why it gives no points although it does not fail. No check gives any if no answer
    equals the reference's where a trivial one differs. Built-in checks give none if fewer than a quarter of
    the cases agree with the reference. If agreement waits for an unwritten part, no check gives any while
    another fails."""
    agreement = results[0]
    if agreement.check.name not in BUILTIN:  # a kata of questions, in which each answer counts by itself
        return {}
    fails = any(result.failures for result in results)
    if not agreement.asked:  # it waits for a part that is not written
        return {result.check.name: NOT_COMPARED for result in results if fails and result.asked}
    if not fails:
        return {}
    if (why := _nothing_telling(results, context)) is not None:
        return {result.check.name: why for result in results}
    agreeing = len(agreement.asked) - len(agreement.failures)
    return dict.fromkeys(BUILTIN, FEW_CASES_AGREE) if 4 * agreeing < len(agreement.asked) else {}


def _nothing_telling(results: Sequence[CheckResult], context: CheckContext) -> str | None:
    """Return why no answer tells that the submission is more than a trivial one; None if two do, which differ
    from each other: a constant is right where it is what is expected."""
    told: dict[str, Any] = {}
    agrees = False
    for case, name, expected in _right_answers(results, context):
        agrees = True
        if not is_trivial(expected, case.arguments):
            first = told.setdefault(name, expected)
            if first_difference(first, expected, Tolerance()):
                return None
    return ONLY_TRIVIAL if agrees else NOTHING_AGREES


def _right_answers(results: Sequence[CheckResult], context: CheckContext) -> Iterator[tuple[Case, str, Any]]:
    """Yield each value that the submission was right about: its case, its name and what is expected. What it
    answered in a worker that was lost is known from the results alone."""
    compared = [r for r in results if r.check.judge is agrees_with_reference and context.parts is None]
    for result in compared:
        failed = {failure.case.index for failure in result.failures}
        for case in (case for case in result.asked if case.index not in failed):
            yield from ((case, name, value) for name, value in context.oracle.expected(case).exact.items())
    for case, observed in context.answers():
        expected = context.oracle.expected(case)
        dtype = plain_dtype(float_dtype(expected.native))
        tolerance = case.precision.tolerance(context.kata.roundings)
        for name, value in observed.items():
            if not first_difference(expected.exact.get(name), value, tolerance, dtype):
                yield case, name, expected.exact.get(name)


def is_trivial(expected: Any, given: Arguments) -> bool:
    """Return whether an expected answer takes no thought: each part of it is an argument or a piece of one,
    or has one number everywhere. A single number is trivial if it is 0, 1 or not finite."""
    row = _as_array(expected)
    if row is None and isinstance(expected, dict | list | tuple):
        parts = expected.values() if isinstance(expected, dict) else expected
        return all(is_trivial(part, given) for part in parts)
    return (
        expected is None
        or _is_uniform(row)
        or any(_is_same(expected, row, argument) for argument in _parts_of(given))
    )


def _parts_of(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a tree, and its lists."""
    if not isinstance(tree, dict):
        yield tree
    if isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _parts_of(part)


def _as_array(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a number, an array or a list of numbers as an array; None for other values."""
    if isinstance(value, list | tuple) and all(
        isinstance(leaf, bool | int | float) for leaf in leaves(value)
    ):
        try:
            return np.asarray(value)
        except (ValueError, OverflowError):
            return None
    return to_numpy(value)


def _is_uniform(array: np.ndarray[Any, Any] | None) -> bool:
    if array is None or array.dtype.kind not in "fiub":
        return False
    if not array.size:
        return True
    first = array.reshape(-1)[0]
    is_plain = array.size > 1 or not np.isfinite(first) or first in (0, 1)
    return bool(is_plain and np.isclose(array, first, rtol=1e-6, atol=0, equal_nan=True).all())


def _is_same(expected: Any, row: np.ndarray[Any, Any] | None, argument: Any) -> bool:
    """Return whether an expected answer is an argument, or a piece of one along one axis."""
    if row is None:
        return type(argument) is type(expected) and bool(argument == expected)
    other = _as_array(argument)
    if other is None or other.ndim != row.ndim or (other.dtype.kind == "b") != (row.dtype.kind == "b"):
        return False
    unequal = [axis for axis in range(row.ndim) if row.shape[axis] != other.shape[axis]]
    if not unequal:
        return _equal(row, other)
    axis, length = unequal[0], row.shape[unequal[0]]
    starts = range(other.shape[axis] - length + 1) if len(unequal) == 1 else ()
    pieces = (other[(slice(None),) * axis + (slice(start, start + length),)] for start in starts)
    return any(_equal(row, piece) for piece in pieces)


def _equal(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return bool(np.isclose(one, other, rtol=1e-6, atol=1e-12, equal_nan=one.dtype.kind == "f").all())
