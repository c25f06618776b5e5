"""Count on how many wrong numbers two answers to the same calls agree.

A mistake often spoils a part of what is returned: a gradient among several, a row of a mask. Where two
mistakes are made at once, each of them alone gives a part of the wrong numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from grader.answer_keys.answers import Answer
from grader.values.arrays import leaves, to_numpy

CLOSE = 1e-4  # relative: an order of asking is made of it, and no name


def closeness(theirs: Iterable[Answer], mine: Iterable[Answer], right: Iterable[Answer]) -> int:
    """Return how many wrong numbers `theirs` and `mine` share. Numbers that are wrong in `mine` and right in
    `theirs` are subtracted. All three are answers to the same calls, in order; the first exception ends the
    count."""
    found = 0
    for answers in zip(theirs, mine, right, strict=False):
        if any(answer.error for answer in answers):
            break
        parts = [list(leaves([answer.value, answer.gradients])) for answer in answers]
        if len({len(part) for part in parts}) == 1:
            found += sum(map(_closeness, *parts))
    return found


def _closeness(theirs: Any, mine: Any, right: Any) -> int:
    same, wrong, theirs_wrong = _equal(theirs, mine), ~_equal(mine, right), ~_equal(theirs, right)
    if same.shape != wrong.shape or wrong.shape != theirs_wrong.shape:  # a wrong shape is wrong as a whole
        return int(same.sum()) if same.all() else 0
    return int((same & theirs_wrong).sum()) - int((wrong & ~theirs_wrong).sum())


def _equal(one: Any, other: Any) -> Any:
    """Return an array that says which numbers of two arrays are equal. If their shapes differ, or if they
    hold no numbers, it has one entry: whether they are the same."""
    first, second = to_numpy(one), to_numpy(other)
    if first is None or second is None:
        return np.asarray(type(one) is type(other) and repr(one) == repr(other))
    if first.shape != second.shape or {first.dtype.kind, second.dtype.kind} - set("biuf"):
        return np.asarray(np.array_equal(first, second))
    return np.isclose(first.astype(float), second.astype(float), rtol=CLOSE, atol=1e-8, equal_nan=True)
