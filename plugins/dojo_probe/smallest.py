"""Find a small input on which two functions differ: from the cases of the kata, made smaller step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from grader.cases.domain import Domain, numbers_in
from grader.kata import Arguments
from grader.values.arrays import in_leaves, leaves

MOST_STARTS = 4  # cases that are made smaller
MOST_STEPS = 400  # smaller inputs that are tried for one case
FEW = 12  # numbers that a person can write

#: Returns whether two functions differ on an input.
Differs = Callable[[Arguments], bool]


def smallest(domain: Domain, cases: Sequence[Arguments], differs: Differs) -> Arguments | None:
    """Return the smallest input that was found on which two functions differ; None if no case tells them
    apart. Every one is allowed in the domain."""

    def tells(arguments: Arguments) -> bool:
        return not domain.complaint(arguments) and differs(arguments)

    ordered = sorted(cases, key=numbers_in)
    best: Arguments | None = None
    for start in islice(filter(tells, ordered), MOST_STARTS):
        found = _made_smaller(start, tells)
        if best is None or numbers_in(found) < numbers_in(best):
            best = found
    return best and _made_plain(best, tells)


def _made_smaller(arguments: Arguments, tells: Differs) -> Arguments:
    """Return the input after all steps that make it smaller and keep the difference."""
    steps = 0
    goes_on = True
    while goes_on and steps < MOST_STEPS:
        goes_on = False
        for smaller in _smaller(arguments):
            steps += 1
            if numbers_in(smaller) < numbers_in(arguments) and tells(smaller):
                arguments, goes_on = smaller, True
                break
            if steps >= MOST_STEPS:
                break
    return arguments


def _smaller(arguments: Arguments) -> Iterator[Arguments]:
    """Yield smaller inputs: with one entry of the first axes alone, with shorter axes of one size, with
    shorter axes of one argument, and with fewer items of lists."""
    yield from (_without_axis(arguments, name) for name in arguments)
    sizes = sorted({int(n) for leaf in leaves(arguments) for n in getattr(leaf, "shape", ()) if n > 1})
    for size in reversed(sizes):
        for shorter in sorted({1, size // 2, size - 1}):
            for part in (slice(shorter), slice(size - shorter, None)):
                yield _cut(arguments, size, part, shorter)
    for name, value in arguments.items():
        for axis, size in enumerate(getattr(value, "shape", ())):
            for at in range(size if size > 1 else 0):
                yield {**arguments, name: _without(value, axis, at)}
        if isinstance(value, list) and len(value) > 1:
            yield {**arguments, name: value[1:]}
            yield {**arguments, name: value[:-1]}


def _without_axis(arguments: Arguments, name: str) -> Arguments:
    """Return the arguments with the first entry alone of the first axis of one of them."""
    value = arguments[name]
    return {**arguments, name: value[0]} if len(getattr(value, "shape", ())) > 1 else arguments


def _cut(value: Any, size: int, part: slice, shorter: int) -> Any:
    """Return a tree with a part of all axes and lists of a size, and the shorter size in place of that
    number."""
    if isinstance(value, dict):
        return {name: _cut(item, size, part, shorter) for name, item in value.items()}
    if type(value) in (list, tuple):
        kept = value[part] if len(value) == size else value
        return type(value)(_cut(item, size, part, shorter) for item in kept)
    if type(value) is int:
        return shorter if value == size else value
    if not getattr(value, "shape", ()):
        return value
    cut = value[tuple(part if int(n) == size else slice(None) for n in value.shape)]
    return cut.copy() if isinstance(cut, np.ndarray) else cut.clone()


def _without(value: Any, axis: int, at: int) -> Any:
    """Return an array without one entry along an axis."""
    kept = [number for number in range(int(value.shape[axis])) if number != at]
    return value[(slice(None),) * axis + (kept,)]


def _made_plain(arguments: Arguments, tells: Differs) -> Arguments:
    """Return the input with plain numbers in its arrays, where they keep the difference."""
    for name, value in arguments.items():
        for change in PLAIN:
            plain = {**arguments, name: in_leaves(partial(_changed, change), value)}
            if tells(plain):
                arguments = plain
                break
    return arguments


def _changed(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return change(value).astype(value.dtype)
    if type(value).__module__ == "torch" and value.is_floating_point():
        return value.new_tensor(change(value.detach().numpy()))
    return value


def _tenths(array: Any) -> Any:
    return np.round(array, 1)


#: What makes numbers easy to write, the easiest first.
PLAIN: tuple[Callable[[Any], Any], ...] = (np.zeros_like, np.ones_like, np.round, _tenths)
