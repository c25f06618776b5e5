"""What one sees of a mistake: the claims that do not hold, and in which cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dojo_authoring.verify.judged import JudgedMistake
from grader.answer_keys.answers import Case
from grader.checks.kata_checks import AGREEMENT
from grader.checks.runner import CheckResult
from grader.values.arrays import to_numpy

LEAST_CASES = 3  # on either side of a condition
MOST_VALUES = 4  # of an argument that is one of a few


@dataclass(frozen=True)
class Symptom:
    """A check that fails: its claim, in how many of the cases that it judges, in how many of them a call
    raises, and what."""

    check: str
    claim: str
    is_law: bool
    failing: int
    cases: int
    raising: int
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Symptoms:
    """The checks that a mistake fails, in the order in which they run. `where` says which cases are wrong, if
    one property of their arguments tells them from those that are right."""

    failed: tuple[Symptom, ...]
    where: str = ""


def symptoms_of(judged: JudgedMistake) -> Symptoms:
    """Return what one sees of a mistake that was judged."""
    agreement = [result for result in judged.results if result.check.name == AGREEMENT]
    where = next((_where(result) for result in agreement if result.failures), "")
    return Symptoms(tuple(_symptom(result) for result in judged.results if result.failures), where)


def _symptom(result: CheckResult) -> Symptom:
    check = result.check
    raised = [one.trace[-1].error for one in result.failures if one.status == "error" and one.trace]
    names = [error[0] for error in raised if error]
    is_law = check.parameters is not None
    numbers = len(result.failures), len(result.asked), len(names)
    return Symptom(check.name, check.title, is_law, *numbers, tuple(dict.fromkeys(names)))


def _where(result: CheckResult) -> str:
    """Return the property of the arguments that all failing cases have and no other one has, as a clause; ""
    if there is none, or if there are few cases of one kind."""
    failing = {failure.case.index for failure in result.failures}
    wrong = [case for case in result.asked if case.index in failing]
    right = [case for case in result.asked if case.index not in failing]
    if min(len(wrong), len(right)) < LEAST_CASES:
        return ""
    of_wrong, of_right = ([dict(_properties(case)) for case in cases] for cases in (wrong, right))
    return next(_telling(of_wrong, of_right), "")


def _telling(wrong: Sequence[dict[str, bool]], right: Sequence[dict[str, bool]]) -> Iterator[str]:
    for clause in wrong[0]:
        every = all(case.get(clause) for case in wrong)
        if every and not any(case.get(clause, True) for case in right):
            yield clause


def _properties(case: Case) -> Iterator[tuple[str, bool]]:
    """Yield clauses about the arguments of a case, and whether each holds. None is about single numbers of an
    array: cases that are wrong may have them all, and for another reason."""
    for name, value in case.arguments.items():
        yield f"`{name}` is given", value is not None
        yield f"`{name}` is None", value is None
        if isinstance(value, bool):
            yield from ((f"`{name}` is True", value), (f"`{name}` is False", not value))
        elif isinstance(value, int | float):
            yield from _properties_of_a_number(name, value)
        elif hasattr(value, "shape") and hasattr(value, "dtype"):
            yield from _properties_of_an_array(name, value)


def _properties_of_a_number(name: str, value: float) -> Iterator[tuple[str, bool]]:
    for number in (0, 1, -1, 2):
        yield f"`{name}` is {number}", value == number
        yield f"`{name}` is not {number}", value != number
    yield f"`{name}` is above 0", value > 0
    yield f"`{name}` is negative", value < 0
    yield f"`{name}` is above 1", value > 1


def _properties_of_an_array(name: str, value: Any) -> Iterator[tuple[str, bool]]:
    array = to_numpy(value)
    if array is None:
        return
    for axes in range(1, 5):
        yield f"`{name}` has {axes} axes" if axes > 1 else f"`{name}` has one axis", array.ndim == axes
    yield f"`{name}` has more than one axis", array.ndim > 1
    yield f"`{name}` has more than two axes", array.ndim > 2
    for number, length in enumerate(array.shape):
        yield f"axis {number} of `{name}` has more than one entry", length > 1
    yield from ((f"`{name}` is {dtype}", array.dtype.name == dtype) for dtype in ("float32", "float64"))
    yield f"`{name}` holds integers", array.dtype.kind in "iu"
    if array.dtype.kind == "f" and array.size:
        yield f"`{name}` holds -inf", bool((array == float("-inf")).any())
    if array.dtype.kind == "b":
        yield f"`{name}` holds a False", not bool(array.all())
