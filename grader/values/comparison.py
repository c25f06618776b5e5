"""When two results count as equal, and how a difference is told.

The tolerance is defined here and nowhere else. A result of dtype with machine epsilon `eps`, made
by sums of `terms` numbers, `roundings` stages deep, may differ from the exact value by

    64 * eps * roundings * terms * (|expected| + the largest |expected| in the array)

Linear in `terms` (Higham 2002, section 3.1: |error| <= n*eps*sum|a_i b_i|), because a right answer in
another order of sums must never be refused; the mistakes that are looked for are far larger. Where terms
cancel, |a_i b_i| is far above |expected|; what is known of them is in `precision`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.values.arrays import dtype_name, largest, to_numpy
from grader.values.formatting import describe, describe_type, show, show_pair

SAFETY = 64.0
SHORT = 16  # items that are shown rather than counted
LONGEST_STEP = 40  # characters of a key in the path to a difference
LOOSEST = 0.05  # whatever the dtype, an answer that is wrong by more is wrong
EPSILON = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "float": 2.0**-52,
}


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be from the exact one, per unit of size. `floor` is a size below which
    numbers are rounding noise beside others that were made with them."""

    terms: int = 1
    roundings: float = 1.0
    floor: float = 0.0

    def beside(self, tree: Any) -> Tolerance:
        """The same for one of several results, whose largest entry sets the floor."""
        return replace(self, floor=max(self.floor, largest(tree)))

    def relative(self, dtype: str) -> float:
        """Relative tolerance for results of `dtype`; 0 for integers and booleans."""
        return min(SAFETY * EPSILON.get(dtype, 0.0) * self.terms * self.roundings, LOOSEST)


@dataclass(frozen=True)
class Difference:
    """A difference: the kind, what was expected and what came, where it begins, and whether NaN came where
    none was due. The words are made when they are read: of most differences nobody wants to know more than
    that there is one."""

    kind: str  # "type", "length", "shape", "dtype", "value"
    words: Callable[[], tuple[str, str]]
    where: str = ""
    is_nan: bool = False

    @functools.cached_property
    def _told(self) -> tuple[str, str]:
        return self.words()

    @property
    def expected(self) -> str:
        return self._told[0]

    @property
    def got(self) -> str:
        return self._told[1]


def first_difference(
    expected: Any, got: Any, tolerance: Tolerance, dtype: str | None = None, path: str = ""
) -> Difference | None:
    """The first difference between two trees of values, or None where they count as equal.

    `expected` may be more precise than `got`; `dtype` overrides the dtype that the tolerance follows.
    Dtypes themselves are not compared, except that numbers, booleans and integers are kinds apart.
    """
    if isinstance(expected, dict):
        return _difference_of_dicts(expected, got, tolerance, dtype, path)
    if isinstance(expected, list | tuple):
        return _difference_of_sequences(expected, got, tolerance, dtype, path)
    wanted, have = to_numpy(expected), to_numpy(got)
    if wanted is None or have is None:
        return _difference_of_others(expected, got, path)
    if _is_index(expected) and have.dtype.kind == "f":  # 2.0 equals 2 and is no token's id
        return _of_type(expected, got, path)
    return _difference_of_arrays(wanted, have, tolerance, dtype or dtype_name(got), path, expected, got)


def _is_index(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _difference_of_others(expected: Any, got: Any, path: str) -> Difference | None:
    """Of values one of which is no number and no array."""
    if type(expected) is not type(got) or to_numpy(expected) is not None:
        return _of_type(expected, got, path)
    if expected == got:
        return None
    if isinstance(expected, str):
        return Difference("value", lambda: show_pair(expected, got, (_parting(expected, got),)), path)
    return _of_type(expected, got, path)


def _parting(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the first index at which two sequences differ, where one of them ends at the latest."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _of_type(expected: Any, got: Any, path: str) -> Difference:
    return Difference("type", lambda: (describe_type(expected), describe_type(got)), path)


def _difference_of_dicts(
    expected: dict[str, Any], got: Any, tolerance: Tolerance, dtype: str | None, path: str
) -> Difference | None:
    if not isinstance(got, dict):
        return _of_type(expected, got, path)
    if expected.keys() != got.keys():
        return Difference("type", lambda: _show_keys(expected, got), path)
    for key, value in expected.items():
        found = first_difference(value, got[key], tolerance, dtype, _step(path, key))
        if found:
            return found
    return None


def _step(path: str, key: Any) -> str:
    """Return the path to an item of a dict, with no more of a long key than a reader needs."""
    if not path and str(key).isprintable() and len(str(key)) <= LONGEST_STEP:
        return str(key)
    step = repr(key) if len(repr(key)) <= LONGEST_STEP else f"{repr(key)[:LONGEST_STEP]}…"
    return f"{path}[{step}]"


def _show_keys(expected: dict[Any, Any], got: dict[Any, Any]) -> tuple[str, str]:
    keys = sorted(expected, key=str), sorted(got, key=str)
    at = _parting(*keys)
    inside = _parting(*(str(tree[at]) if at < len(tree) else "" for tree in keys))
    wanted, have = show_pair(*keys, (at, inside))
    return f"the keys {wanted}", f"the keys {have}"


def _difference_of_sequences(
    expected: Any, got: Any, tolerance: Tolerance, dtype: str | None, path: str
) -> Difference | None:
    if not isinstance(got, list | tuple):
        return _of_type(expected, got, path)
    if len(expected) != len(got):
        return Difference("length", lambda: _show_lengths(expected, got), path)
    for index, (wanted, have) in enumerate(zip(expected, got, strict=True)):
        found = first_difference(wanted, have, tolerance, dtype, f"{path}[{index}]")
        if found:
            return found
    return None


def _show_lengths(expected: Sequence[Any], got: Sequence[Any]) -> tuple[str, str]:
    """Short lists of plain values whole, others by their length."""
    if _is_short(expected) and _is_short(got):
        return show_pair(expected, got, (_parting(expected, got),))
    wanted, have = (show(tree) if _is_short(tree) else f"{len(tree)} items" for tree in (expected, got))
    return wanted, have


def _is_short(items: Sequence[Any]) -> bool:
    return len(items) <= SHORT and all(isinstance(item, int | float | str) for item in items)


def _difference_of_arrays(
    wanted: np.ndarray[Any, Any],
    have: np.ndarray[Any, Any],
    tolerance: Tolerance,
    dtype: str,
    path: str,
    expected: Any,
    got: Any,
) -> Difference | None:
    if wanted.shape != have.shape:
        return Difference("shape", lambda: (describe(expected), describe(got)), path)
    kinds = {wanted.dtype.kind, have.dtype.kind} & {"b", "c", "O", "U", "S"}
    if kinds and wanted.dtype.kind != have.dtype.kind:
        return Difference("dtype", lambda: (describe(expected), describe(got)), path)
    if wanted.dtype == have.dtype and wanted.tobytes() == have.tobytes():
        return None  # bit by bit, which is seen at once
    wrong = ~_is_close(wanted, have, tolerance.relative(dtype), tolerance.floor)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    where = f"{path}{list(at)}" if at else path
    return value_difference(wanted, have, at, where)


def value_difference(
    wanted: np.ndarray[Any, Any], have: np.ndarray[Any, Any], at: tuple[int, ...], where: str
) -> Difference:
    """Two arrays of one shape differ, from the index `at` on."""
    is_nan = _holds_nan(have) and not _holds_nan(wanted)
    return Difference("value", lambda: show_pair(wanted, have, at), where, is_nan)


def _holds_nan(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def _is_close(
    wanted: np.ndarray[Any, Any], have: np.ndarray[Any, Any], relative: float, floor: float
) -> np.ndarray[Any, Any]:
    """Elementwise: equal, both NaN, or within the tolerance; infinities must match exactly."""
    if relative == 0.0 or wanted.dtype.kind != "f":
        unknown = wanted.dtype.kind in "fc" and have.dtype.kind in "fc"
        both_nan = np.isnan(wanted) & np.isnan(have) if unknown else False
        return np.asarray((wanted == have) | both_nan)
    wanted = wanted.astype(np.float64)
    have = have.astype(np.float64)
    finite = np.isfinite(wanted)
    size = float(np.max(np.abs(wanted), where=finite, initial=floor))
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = relative * np.abs(wanted) + relative * size
        near = np.abs(wanted - have) <= allowed
        _note_margin(wanted, have, allowed)
    same = (wanted == have) | (np.isnan(wanted) & np.isnan(have))
    return np.asarray(np.where(finite & np.isfinite(have), near, same))


@dataclass
class Margin:
    """The largest share of a tolerance that an accepted value has used, of 1."""

    largest: float = 0.0


_margin: ContextVar[Margin | None] = ContextVar("margin", default=None)


@contextmanager
def watching_margin() -> Iterator[Margin]:
    """Inside, every comparison within a tolerance is noted: how near the edge was it?"""
    margin = Margin()
    token = _margin.set(margin)
    try:
        yield margin
    finally:
        _margin.reset(token)


def _note_margin(
    wanted: np.ndarray[Any, Any], have: np.ndarray[Any, Any], allowed: np.ndarray[Any, Any]
) -> None:
    margin = _margin.get()
    if margin is not None:
        shares = np.abs(wanted - have) / np.maximum(allowed, np.finfo(np.float64).tiny)
        inside = shares[np.isfinite(shares) & (shares <= 1)]
        margin.largest = max(margin.largest, float(np.max(inside, initial=0.0)))
