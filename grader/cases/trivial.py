"""Tell whether a student could give an expected answer without solving the kata.

It is an argument that is handed back, or it has the same number in every entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.kata import Arguments
from grader.values.arrays import leaves, to_numpy

RELATIVE, ABSOLUTE = 1e-6, 1e-12  # the largest differences of two entries that are the same


def is_trivial(expected: Any, given: Arguments) -> bool:
    """Return whether an expected answer can be given without solving the kata: each part of it is an
    argument, is cut out of one, or has one number everywhere. A single number is trivial if it is 0, 1 or not
    finite."""
    row = _as_array(expected)
    if row is None and isinstance(expected, dict | list | tuple):
        parts = expected.values() if isinstance(expected, dict) else expected
        return all(is_trivial(part, given) for part in parts)
    return (
        expected is None
        or _is_uniform(row)
        or any(_is_same(expected, row, argument) for argument in parts_of(given))
    )


def parts_of(tree: Any) -> Iterator[Any]:
    """Yield every value inside nested dicts, lists and tuples; lists and tuples also as a whole."""
    if not isinstance(tree, dict):
        yield tree
    if isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from parts_of(part)


def _as_array(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a number, an array or a list of numbers as an array, and None for any other value."""
    if isinstance(value, list | tuple) and all(
        isinstance(leaf, bool | int | float) for leaf in leaves(value)
    ):
        try:
            return np.asarray(value)
        except (ValueError, OverflowError):
            return None
    return to_numpy(value)


def _is_uniform(array: np.ndarray[Any, Any] | None) -> bool:
    """Return whether an array has one number everywhere; a single number only if it is 0, 1 or not finite."""
    if array is None or array.dtype.kind not in "fiub":
        return False
    if not array.size:
        return True
    first = array.reshape(-1)[0]
    is_plain = array.size > 1 or not np.isfinite(first) or first in (0, 1)
    return bool(is_plain and np.isclose(array, first, rtol=RELATIVE, atol=0, equal_nan=True).all())


def _is_same(expected: Any, row: np.ndarray[Any, Any] | None, argument: Any) -> bool:
    """Return whether an expected answer equals an argument, or is cut out of one along one axis. `row` is the
    answer as an array, or None."""
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
    if _begin_differently(one, other):  # most do, and a comparison of arrays is slow
        return False
    is_float = one.dtype.kind == "f"
    return bool(np.isclose(one, other, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=is_float).all())


def _begin_differently(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Return whether the first entries of two arrays of numbers differ by more than rounding: most arrays
    that differ do so there, and it is quick."""
    if not one.size or not {one.dtype.kind, other.dtype.kind} <= set("fiub"):
        return False
    first, second = float(one.flat[0]), float(other.flat[0])
    return abs(first - second) > ABSOLUTE + RELATIVE * abs(second)
