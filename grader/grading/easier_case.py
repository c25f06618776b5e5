"""Find a case that reads easier than the smallest failing one of the bank, and fails in the same way.

The large arrays of a case are replaced by seeded ones, which one line of code makes, and axes are shortened.
A new case counts only if the reference passes the check on it, and the submission fails it as it failed the
case of the bank. So it needs the reference: with an answer key alone, the cases of the bank are shown.

It also has to be a case that the kata could have drawn. Its sizes and whole numbers are related as those of
all cases of the bank are. An array of shorter axes is what it was before: probabilities, a permutation, or a
mask that shows something in each row. And there is no tie, and no number nearly half-way between two others:
the reference answers nearly the same where the numbers are a little different.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from grader.answer_keys.answers import Case
from grader.cases.oracle import Oracle
from grader.cases.relations import CaseRelations, KnownRelations
from grader.checks.runner import Failure, fails_alike
from grader.kata import Arguments, Kata
from grader.values.arrays import dtype_name, in_leaves, leaves, to_numpy
from grader.values.comparison import Tolerance, first_difference
from grader.values.seeded import seed_of, seeded

#: Returns how a submission fails a check on a new case; None if it does not, or if the case is of no use.
Retry = Callable[[Arguments], Failure | None]

MOST_TRIES = 8  # new cases for the checks that one submission fails
MOST_NUMBERS = 24  # of an array that keeps its numbers while others are replaced
EXTREME = 1_000  # an integer from which on a plain one is tried in its place
PLAIN_NUMBERS = (5, 6, 7, 8, 9)
LARGE = 12.0  # the largest entry of an array that is replaced
FEWEST_REPLACED = 4  # entries of an array that is replaced
NUDGE = 0.001  # what normal numbers are multiplied by that are added, to see whether an answer is steady
NEARLY = Tolerance(terms=10**15)  # the loosest: LOOSEST, relative to the largest number
DIGITS = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class OneCase(Oracle):
    """An oracle that has the reference's answer to one more case. Raises what the reference raises."""

    def __init__(self, oracle: Oracle, arguments: Arguments) -> None:
        self.__dict__.update(oracle.__dict__, reference=oracle.reference, answered=oracle.answered)
        self.case = Case(-1, arguments)
        self._answer_to_it = self._compute_expected(arguments)

    def expected(self, case: Case) -> Any:  # noqa: ARG002  # there is one case alone
        """Return what the reference answers to the case."""
        return self._answer_to_it

    @property
    def is_steady(self) -> bool:
        """Whether the reference answers nearly the same if the numbers are a little different. Raises what
        the reference raises."""
        native = self._answer_to_it.native
        return all(first_difference(native, self._nudged(way), NEARLY) is None for way in (NUDGE, -NUDGE))

    def _nudged(self, way: float) -> dict[str, Any]:
        """Return what the reference answers where all numbers are a little different."""
        change = partial(_nudged, np.random.default_rng(0), way)
        return dict(self.kata.observed(self.reference, in_leaves(change, self.case.arguments)))


@dataclass
class EasierCases:
    """Looks for easier cases than those of the `bank` for the checks that one submission fails, with `left`
    tries in all. `found` has what was found for a case of the bank, by its id: other checks of the same case
    try it first."""

    kata: Kata
    bank: Sequence[Case] = ()
    left: int = MOST_TRIES
    found: dict[int, Arguments] = field(default_factory=dict)

    @cached_property
    def _relations(self) -> KnownRelations:
        return KnownRelations([case.arguments for case in self.bank])

    def relations(self, arguments: Arguments) -> CaseRelations:
        """Return what holds of all cases of the bank whose flags are those of the arguments."""
        return self._relations.of(arguments)

    def failures(self, failure: Failure, retry: Retry) -> Iterator[Failure]:
        """Yield failures on new cases, each easier than the one before: first with seeded arrays, then with
        shorter axes."""
        case = failure.case
        if self.left <= 0:
            return
        if case.arguments is self.found.get(id(case), case.arguments):
            yield from self._search(failure, retry)
        elif again := self._retried(self.found[id(case)], failure, retry):
            yield again

    def _search(self, failure: Failure, retry: Retry) -> Iterator[Failure]:
        case, arguments = failure.case, failure.case.arguments
        ways = (_refilled, _with_plain_integers, _with_fewer_items)
        for candidates in (*ways, *_shortenings(arguments, self.relations(arguments))):
            for new in self._completed(candidates(arguments)):
                if self.left > 0 and (found := self._retried(new, failure, retry)):
                    yield found
                    self.found[id(case)] = arguments = new
                    break

    def _completed(self, candidates: Iterator[Arguments]) -> Iterator[Arguments]:
        """Yield the candidates with what follows from their arguments, if that can be computed."""
        for arguments in candidates:
            completed: Arguments | None = None
            with suppress(Exception):  # axes that do not fit
                completed = self.kata.completed(arguments)
            if completed is not None:
                yield completed

    def _retried(self, arguments: Arguments, failure: Failure, retry: Retry) -> Failure | None:
        """Return how a new case fails, if the kata can have it and it fails as the other one does."""
        if not self.relations(arguments).hold(arguments):
            return None
        if _corner(self.kata, arguments) != _corner(self.kata, failure.case.arguments):
            return None
        self.left -= 1
        found = retry(arguments)
        return found if found is not None and fails_as(found, failure) else None


def fails_as(one: Failure, other: Failure) -> bool:
    """Return whether two cases fail with the same finding: the same message but for its numbers, and the same
    kind of difference in the same value."""
    if not fails_alike(one, other) or DIGITS.sub("", one.message) != DIGITS.sub("", other.message):
        return False
    if one.difference is None or other.difference is None:
        return one.line == other.line
    names = [failure.where.partition("[")[0] for failure in (one.difference, other.difference)]
    return one.difference.kind == other.difference.kind and names[0] == names[1]


def _nudged(rng: np.random.Generator, way: float, value: Any) -> Any:
    """Return an array with random numbers times `way` added, if its own mean nothing by themselves."""
    if not _is_free(value, 1, is_weight=seed_of(value) is not None):
        return value
    noise = way * rng.standard_normal(tuple(value.shape))
    if isinstance(value, np.ndarray):
        return value + noise.astype(value.dtype)
    return value + value.new_tensor(noise)


def _corner(kata: Kata, arguments: Arguments) -> str | None:
    try:
        return kata.corner_of(arguments)
    except Exception:  # the cases of a law may lack what a corner asks for
        return None


def _refilled(arguments: Arguments) -> Iterator[Arguments]:
    """Yield the arguments with seeded arrays in place of all whose numbers mean nothing by themselves, and of
    the large ones among them."""
    every, large = _with_seeds(arguments), _with_seeds(arguments, MOST_NUMBERS + 1)
    if not _is_equal(every, arguments):
        yield every
        if not _is_equal(every, large) and not _is_equal(large, arguments):
            yield large


def _with_seeds(arguments: Arguments, fewest: int = FEWEST_REPLACED) -> Arguments:
    """Return the arguments with a seeded array in place of each of at least `fewest` entries. One that stands
    in two places stays one. The seeds count up; in the weights of a module they follow the sorted names."""
    made: dict[int, Any] = {}

    def change(value: Any, *, is_weight: bool, is_of_module: bool = False) -> Any:
        if isinstance(value, dict):
            is_of_module = any("." in str(name) for name in value)
            names = sorted(value) if is_of_module else list(value)
            found = {name: change(value[name], is_weight=True, is_of_module=is_of_module) for name in names}
            return {name: found[name] for name in value}
        if type(value) in (list, tuple):
            return type(value)(change(item, is_weight=is_weight) for item in value)
        if id(value) not in made and _is_free(value, 1 if is_of_module else fewest, is_weight=is_weight):
            made[id(value)] = seeded(value, len(made))
        return made.get(id(value), value)

    return {name: change(value, is_weight=False) for name, value in arguments.items()}


def _is_free(value: Any, fewest: int, *, is_weight: bool) -> bool:
    """Return whether other numbers may stand in place of an array's: it is one of weights, or its entries are
    of both signs and of a usual size. A mask, probabilities or token ids are not."""
    if not hasattr(value, "shape") or "float" not in dtype_name(value) or math.prod(value.shape) < fewest:
        return False
    array = to_numpy(value)
    if array is None or not np.isfinite(array).all() or np.abs(array).max() > LARGE:
        return False
    return is_weight or bool(array.min() < 0 < array.max())


def _with_plain_integers(arguments: Arguments) -> Iterator[Arguments]:
    """Yield the arguments with small integers in place of extreme ones; equal ones stay equal."""
    every = _integers(arguments)
    extreme = sorted(number for number in every if abs(number) >= EXTREME)
    plain = [number for number in PLAIN_NUMBERS if number not in every]
    if not extreme or len(extreme) > len(plain):
        return
    table = dict(zip(extreme, plain, strict=False))

    def change(value: Any) -> Any:
        if type(value) is int:
            return table.get(value, value)
        array = to_numpy(value) if hasattr(value, "shape") else None
        if array is None or array.dtype.kind not in "iu":
            return value
        new = value.copy() if isinstance(value, np.ndarray) else value.clone()
        for old, number in table.items():
            new[value == old] = number
        return new

    yield in_leaves(change, arguments)


def is_extreme(arguments: Arguments) -> bool:
    """Return whether an integer in the arguments is so large that it is hard to read."""
    return any(abs(number) >= EXTREME for number in _integers(arguments))


def _integers(arguments: Arguments) -> set[int]:
    """Return all integers in the arguments, those in arrays with them."""
    arrays = [to_numpy(leaf) for leaf in leaves(arguments) if hasattr(leaf, "shape")]
    whole = [array for array in arrays if array is not None and array.dtype.kind in "iu"]
    numbers = [leaf for leaf in leaves(arguments) if type(leaf) is int]
    return {*numbers, *(int(number) for array in whole for number in np.unique(array))}


def _with_fewer_items(arguments: Arguments) -> Iterator[Arguments]:
    """Yield the arguments with one and with two of the items of each list that holds more dicts or lists."""
    nested = [
        name
        for name, value in arguments.items()
        if isinstance(value, list) and len(value) > 1 and all(isinstance(item, dict | list) for item in value)
    ]
    for most in (1, 2):
        if any(len(arguments[name]) > most for name in nested):
            yield {**arguments, **{name: arguments[name][:most] for name in nested}}


def _shortenings(
    arguments: Arguments, relations: CaseRelations
) -> list[Callable[[Arguments], Iterator[Arguments]]]:
    """Return for each size of an axis, from the largest, what shortens all axes of this size: to the least
    length of the bank, or to 2."""
    arrays = [leaf for leaf in leaves(arguments) if hasattr(leaf, "shape")]
    sizes = {int(size) for leaf in arrays for size in leaf.shape if size > 1}
    features = {int(leaf.shape[-1]) for leaf in arrays if len(leaf.shape) and "float" in dtype_name(leaf)}
    found: list[Callable[[Arguments], Iterator[Arguments]]] = []
    for size in sorted(sizes, reverse=True):
        least = max(relations.least_length(arguments, size), 2 if size in features else 1)
        found.append(partial(_with_shorter_axes, size, (least, 2) if least < 2 else (least,)))
    return found


def _with_shorter_axes(size: int, lengths: tuple[int, ...], arguments: Arguments) -> Iterator[Arguments]:
    """Yield the arguments with axes of one of the `lengths` in place of those of this size."""
    for shorter in lengths:
        if shorter < size:
            new: Arguments = in_leaves(partial(_resized, size, shorter), arguments)
            if all(map(_is_as_before, leaves(arguments), leaves(new))):
                yield _with_seeds(new) if _is_seeded(arguments) else new


def _resized(size: int, shorter: int, value: Any) -> Any:
    """Return the value with axes of this size shortened, and a number that is the size replaced."""
    if type(value) is int:
        return shorter if value == size else value
    if not getattr(value, "shape", ()):  # a NumPy number has the shape ()
        return value
    part = value[tuple(slice(shorter if length == size else None) for length in value.shape)]
    return part.copy() if isinstance(part, np.ndarray) else part.clone()


def _is_as_before(old: Any, new: Any) -> bool:
    """Return whether a shortened array is of the kind that it was: its rows hold probabilities, or the first
    whole numbers, or a mask that shows something."""
    before, after = to_numpy(old), to_numpy(new)
    if before is None or after is None or not before.ndim or before.shape == after.shape:
        return True
    return all(is_so(after) for is_so in ROW_PROPERTIES if is_so(before))


def _holds_probabilities(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind == "f" and bool((array >= 0).all() and (abs(array.sum(-1) - 1) < NUDGE).all())


def _is_permutation(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "iu" and bool((np.sort(array, -1) == np.arange(array.shape[-1])).all())


def _shows_something(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind == "b" and bool(array.any(-1).all())


#: What the rows of an array may be, each of them.
ROW_PROPERTIES = [_holds_probabilities, _is_permutation, _shows_something]


def _is_seeded(arguments: Arguments) -> bool:
    return any(seed_of(leaf) is not None for leaf in leaves(arguments))


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether two trees of the same structure hold the same leaves."""
    return all(a is b for a, b in zip(leaves(one), leaves(other), strict=True))
