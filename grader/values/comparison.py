"""Compare results within a tolerance, and describe their first difference.

The tolerance is defined only here. A result whose dtype has the machine epsilon `eps`, computed in
`roundings` stages by sums of `terms` numbers, may differ from the exact value by

    64 * eps * roundings * terms * (|expected| + the largest |expected| in the array)

It is linear in `terms` (Higham 2002, section 3.1: |error| <= n*eps*sum|a_i b_i|), because a right answer
that sums in another order must never be rejected; the errors of known mistakes are far larger. If terms
cancel, |a_i b_i| is far larger than |expected|; `grader.values.comparison` then sets a floor.

The precision that answers to a case can have, and messages about dtypes that lose or add precision.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.texts.bounds import cut_pair
from grader.texts.phrases import counted
from grader.values.arrays import dtype_name, float_dtype, largest, leaves, terms_of, to_numpy
from grader.values.formatting import describe, describe_type, show, show_pair
from grader.worker.protocol.codec import TensorOutline

Array = np.ndarray[Any, Any]

SAFETY = 64.0
SHORT = 16  # items of the longest list that is shown; of a longer one, only the length is
MOST_SHOWN = 60  # characters of each of two values in a message
LONGEST_KEY = 40  # characters of a key in the path to a difference
LOOSEST = 0.05  # the largest relative tolerance, whatever the dtype
EPSILON = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "float": 2.0**-52,
}


def epsilon_of(dtype: str | None) -> float:
    """Return the distance from 1 to the next number of a float dtype; 0 for other dtypes and None."""
    return EPSILON.get(dtype or "", 0.0)


@dataclass(frozen=True)
class Tolerance:
    """How far results may be from the exact ones.

    `floor` is the least size to which the tolerance is relative. It allows for the rounding errors of larger
    numbers, such as the terms of a sum that cancel. `finest` is the dtype of the arguments' floats: a result
    of a wider dtype is not held to more digits than that one has.
    """

    terms: int = 1
    roundings: float = 1.0
    floor: float = 0.0
    finest: str | None = None

    def with_floor_of(self, tree: Any) -> Tolerance:
        """Return the tolerance with the largest number in `tree` as its floor, if that is larger."""
        return replace(self, floor=max(self.floor, largest(tree)))

    def relative(self, dtype: str) -> float:
        """Return the relative tolerance for results of `dtype`; 0 for integers and booleans."""
        epsilon = epsilon_of(dtype)
        if epsilon:
            epsilon = max(epsilon, epsilon_of(self.finest))
        return min(SAFETY * epsilon * self.terms * self.roundings, LOOSEST)


@dataclass(frozen=True)
class Difference:
    """The first difference between an expected and an actual value.

    `format_values` returns both as text. It is called when a text is first read, because most differences are
    never shown. `is_nan` is true if the actual value contains NaN and the expected one does not. `arrays` are
    the expected array, the actual one, and where they differ, if both have the same shape. `what` says what
    the values are if they are not what a call returned and what the reference returns for it.
    """

    kind: str  # "type", "length", "shape", "dtype", "value"
    format_values: Callable[[], tuple[str, str]]
    where: str = ""
    is_nan: bool = False
    arrays: tuple[Array, Array, Array] | None = None
    what: str = ""

    @functools.cached_property
    def _texts(self) -> tuple[str, str]:
        return self.format_values()

    @property
    def expected(self) -> str:
        return self._texts[0]

    @property
    def got(self) -> str:
        return self._texts[1]

    @property
    def entries(self) -> tuple[str, str]:
        """The texts of what is expected and of what came, in arrays of their first unequal entry."""
        if self.arrays is None:
            return self._texts
        wanted, have, wrong = self.arrays
        at = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.ndim else ()
        return show_pair(wanted[at], have[at])

    @property
    def sentence(self) -> str:
        """What the value is and what it should be, as a sentence about `what`."""
        expected, got = cut_pair(*self.entries, MOST_SHOWN)
        where = f" at {self.where}" if self.where else ""
        return f"{capitalized(self.what.rstrip(','))}: {got}{where}, should be {expected}."


def capitalized(what: str) -> str:
    """Return `what` with a capital letter, unless it begins with code."""
    word = what.split(" ")[0]
    return what[:1].upper() + what[1:] if word.isalpha() and (len(word) > 1 or word == "a") else what


def first_difference(
    expected: Any, got: Any, tolerance: Tolerance, dtype: str | None = None, path: str = ""
) -> Difference | None:
    """Return the first difference between two trees, or None if they are equal within the tolerance.

    The tolerance is that of `dtype`, by default the dtype of `got`; `expected` may be more precise. Dtypes
    are not compared, except that booleans differ from numbers and floats from integers that are expected.
    `path` leads to these trees from the outermost one.
    """
    if isinstance(expected, dict):
        return _difference_of_dicts(expected, got, tolerance, dtype, path)
    if isinstance(expected, list | tuple):
        return _difference_of_sequences(expected, got, tolerance, dtype, path)
    wanted, have = to_numpy(expected), to_numpy(got)
    if wanted is None or have is None:
        return _difference_of_other_types(expected, got, path)
    if _is_index(expected) and have.dtype.kind == "f":  # 2.0 equals 2, but cannot be used as an index
        return _type_difference(expected, got, path)
    return _difference_of_arrays(wanted, have, tolerance, dtype or dtype_name(got), path, expected, got)


def _is_index(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _difference_of_other_types(expected: Any, got: Any, path: str) -> Difference | None:
    """Compare two values of which at least one is neither a number nor an array."""
    if type(expected) is not type(got) or to_numpy(expected) is not None:
        return _type_difference(expected, got, path)
    if expected == got and not isinstance(got, TensorOutline):  # which has no values to compare
        return None
    if isinstance(expected, str):
        return Difference("value", lambda: show_pair(expected, got, (_first_mismatch(expected, got),)), path)
    return _type_difference(expected, got, path)


def _first_mismatch(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the first index at which two sequences differ; at the latest, the length of the shorter one."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _type_difference(expected: Any, got: Any, path: str) -> Difference:
    return Difference(
        "type", lambda: _with_numbers(expected, got, describe_type(expected), describe_type(got)), path
    )


def _with_numbers(expected: Any, got: Any, wanted: str, have: str) -> tuple[str, str]:
    """Return the descriptions of two values, with their numbers if both are short rows of integers."""
    if not (_is_short_row(expected) and _is_short_row(got)):
        return wanted, have
    return f"{wanted}: {show(expected)}", f"{have}: {show(got)}"


def _is_short_row(value: Any) -> bool:
    """True for a list or an array of one axis that holds up to SHORT integers."""
    if isinstance(value, list | tuple):
        return len(value) <= SHORT and all(map(_is_index, value))
    array = to_numpy(value)
    return array is not None and array.ndim == 1 and array.size <= SHORT and array.dtype.kind in "iu"


def _difference_of_dicts(
    expected: dict[str, Any], got: Any, tolerance: Tolerance, dtype: str | None, path: str
) -> Difference | None:
    if not isinstance(got, dict):
        return _type_difference(expected, got, path)
    if expected.keys() != got.keys():
        return Difference("type", lambda: _format_keys(expected, got), path)
    for key, value in expected.items():
        found = first_difference(value, got[key], tolerance, dtype, _item_path(path, key))
        if found:
            return found
    return None


def _item_path(path: str, key: Any) -> str:
    """Return the path to an item of a dict, in which a long key is cut."""
    if not path and str(key).isprintable() and len(str(key)) <= LONGEST_KEY:
        return str(key)
    shown = repr(key) if len(repr(key)) <= LONGEST_KEY else f"{repr(key)[:LONGEST_KEY]}…"
    return f"{path}[{shown}]"


def _format_keys(expected: dict[Any, Any], got: dict[Any, Any]) -> tuple[str, str]:
    keys = sorted(expected, key=str), sorted(got, key=str)
    at = _first_mismatch(*keys)
    inside = _first_mismatch(*(str(tree[at]) if at < len(tree) else "" for tree in keys))
    wanted, have = show_pair(*keys, (at, inside))
    return f"the keys {wanted}", f"the keys {have}"


def _difference_of_sequences(
    expected: Any, got: Any, tolerance: Tolerance, dtype: str | None, path: str
) -> Difference | None:
    if not isinstance(got, list | tuple):
        return _type_difference(expected, got, path)
    if len(expected) != len(got):
        return Difference("length", lambda: _format_lengths(expected, got), path)
    for index, (wanted, have) in enumerate(zip(expected, got, strict=True)):
        found = first_difference(wanted, have, tolerance, dtype, f"{path}[{index}]")
        if found:
            return found
    return None


def _format_lengths(expected: Sequence[Any], got: Sequence[Any]) -> tuple[str, str]:
    """Return short lists of plain values in full, others as their lengths."""
    if _is_short(expected) and _is_short(got):
        return show_pair(expected, got, (_first_mismatch(expected, got),))
    wanted, have = (show(tree) if _is_short(tree) else counted(len(tree), "item") for tree in (expected, got))
    return wanted, have


def _is_short(items: Sequence[Any]) -> bool:
    return len(items) <= SHORT and all(isinstance(item, int | float | str) for item in items)


def _difference_of_arrays(  # noqa: PLR0913  # two forms of the two values
    wanted: Array,
    have: Array,
    tolerance: Tolerance,
    dtype: str,
    path: str,
    expected: Any,
    got: Any,
) -> Difference | None:
    if wanted.shape != have.shape:
        return Difference("shape", lambda: _describe_shapes(expected, got, wanted.shape, have.shape), path)
    kinds = {wanted.dtype.kind, have.dtype.kind} & {"b", "c", "O", "U", "S"}
    if kinds and wanted.dtype.kind != have.dtype.kind:
        return Difference("dtype", lambda: (describe(expected), describe(got)), path)
    if wanted.dtype == have.dtype and wanted.tobytes() == have.tobytes():
        return None  # equal bit by bit, which is fast to find out
    wrong = ~_is_close(wanted, have, tolerance.relative(dtype), tolerance.floor)
    if not wrong.any():
        return None
    return value_difference(wanted, have, wrong, path)


def value_difference(wanted: Array, have: Array, wrong: Array, path: str = "") -> Difference:
    """Return the difference of two arrays of the same shape that differ where `wrong` is true."""
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    where = f"{path}{list(at)}" if at else path
    is_nan = _holds_nan(have) and not _holds_nan(wanted)
    arrays = wanted, have, wrong
    return Difference("value", lambda: show_pair(wanted, have, at), where, is_nan, arrays)


def _describe_shapes(
    expected: Any, got: Any, wanted: tuple[int, ...], have: tuple[int, ...]
) -> tuple[str, str]:
    """Describe two arrays of different shapes; without their dtypes if these differ, as they may."""
    if dtype_name(expected) == dtype_name(got):
        return _with_numbers(expected, got, describe(expected), describe(got))
    return _with_numbers(expected, got, f"an array of shape {wanted}", f"an array of shape {have}")


def _holds_nan(array: Array) -> bool:
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def _is_close(wanted: Array, have: Array, relative: float, floor: float) -> Array:
    """Return elementwise whether entries are equal, both NaN, or finite and within the tolerance."""
    if relative == 0.0 or wanted.dtype.kind != "f":
        may_be_nan = wanted.dtype.kind in "fc" and have.dtype.kind in "fc"
        both_nan = np.isnan(wanted) & np.isnan(have) if may_be_nan else False
        return np.asarray((wanted == have) | both_nan)
    wanted = wanted.astype(np.float64)
    have = have.astype(np.float64)
    finite = np.isfinite(wanted)
    size = float(np.max(np.abs(wanted), where=finite, initial=floor))
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = relative * np.abs(wanted) + relative * size
        near = np.abs(wanted - have) <= allowed
        _record_margin(wanted, have, allowed)
    same = (wanted == have) | (np.isnan(wanted) & np.isnan(have))
    return np.asarray(np.where(finite & np.isfinite(have), near, same))


@dataclass
class Margin:
    """The largest fraction of its tolerance that an accepted value has used, at most 1."""

    largest: float = 0.0


_margin: ContextVar[Margin | None] = ContextVar("margin", default=None)


@contextmanager
def recording_margin() -> Iterator[Margin]:
    """Record the largest fraction of a tolerance that a comparison inside the block uses."""
    margin = Margin()
    token = _margin.set(margin)
    try:
        yield margin
    finally:
        _margin.reset(token)


def _record_margin(wanted: Array, have: Array, allowed: Array) -> None:
    margin = _margin.get()
    if margin is not None:
        shares = np.abs(wanted - have) / np.maximum(allowed, np.finfo(np.float64).tiny)
        largest = float(np.max(shares[np.isfinite(shares)], initial=0.0))
        if largest <= 1:  # values that differ say nothing about right answers
            margin.largest = max(margin.largest, largest)


#: The floor of a tolerance, relative to the largest argument. It lets a sum whose terms cancel be as wrong as
#: Higham's bound allows, without the safety factor.
CANCELLED = 1 / SAFETY

WIDENING = (
    " In NumPy a float64 scalar or array widens float32: np.sqrt(64), np.zeros(3) and"
    " np.arange(3.0) are float64."
)
LOST_DIGITS = (
    "Every number of the result is one that float32 can hold, and right to some 7 digits; the arguments are"
    " float64."
)
FLOAT32_SOURCES = {
    "numpy": " Look for a float32 on the way.",
    "torch": " Look for .float(), for torch.float32, and for tensors that are made without a dtype, such as"
    " torch.tensor(2.0), torch.ones(3), and torch.where with two plain numbers.",
}


HALF_DIGITS = (
    "Every number of the result is one that {name} can hold, which has some {digits} digits; the arguments"
    " have more. Look for 16 bits on the way, such as .half(), .bfloat16() or float16."
)
BITS = {"float32": 24, "bfloat16": 8, "float16": 11}  # of a mantissa
FEW_BITS = 5  # of numbers such as 0.75 and 12, which a formula gives as well
FEW_NUMBERS = 3  # may have few digits by chance, for instance where large terms cancel


def plain_dtype(dtype: str | None) -> str | None:
    """Return the dtype whose precision most checks require: float32 in place of float64."""
    return "float32" if dtype in ("float64", "float") else dtype


@dataclass(frozen=True)
class Precision:
    """How precise the answers to a case can be.

    Attributes:
        terms: How many numbers the longest sum has that the case can lead to.
        finest: The dtype of the case's floats; None if it has none.
        floor: Smaller results may be rounding errors of terms that have cancelled.
    """

    terms: int = 1
    finest: str | None = None
    floor: float = 0.0

    @property
    def dtype(self) -> str | None:
        """The dtype whose precision most checks require."""
        return plain_dtype(self.finest)

    def tolerance(self, roundings: float, times: int = 1) -> Tolerance:
        return Tolerance(times * self.terms, roundings, self.floor, self.finest)


def precision_of(case: Any) -> Precision:
    """Return the precision that answers to the case can have.

    The floor is a 64th of the largest float in the case's arrays, since the error of a sum is proportional to
    its terms, which may cancel. Floats above 1 count as 1, because large ones are often masks.
    """
    return Precision(terms_of(case), float_dtype(case), CANCELLED * min(1.0, _largest_float(case)))


def _largest_float(tree: Any) -> float:
    if isinstance(tree, dict | list | tuple):
        return max(map(_largest_float, tree.values() if isinstance(tree, dict) else tree), default=0.0)
    return largest(tree) if hasattr(tree, "shape") and float_dtype(tree) else 0.0


def widening(library: str, have: str, expected: str) -> str:
    """Return an explanation of a NumPy result that is float64 instead of float32; otherwise no text."""
    return WIDENING if library == "numpy" and (have, expected) == ("float64", "float32") else ""


def lost_digits(library: str, dtype: str | None, exact: Any, got: Any) -> str:
    """Return the message for a float64 result whose numbers were rounded to float32, or for a result whose
    numbers were rounded to 16 bits; otherwise no text.

    A wrong constant may change as few digits, but its results are no numbers of the smaller dtype.
    """
    if dtype == "float64" and _is_rounded("float32", exact, got):
        return LOST_DIGITS + FLOAT32_SOURCES[library]
    if dtype in ("float32", "float64") and not _fits(got, FEW_BITS) and len(_floats(got)) > FEW_NUMBERS:
        for name, digits in (("bfloat16", 2), ("float16", 3)):
            if _is_rounded(name, exact, got):
                return HALF_DIGITS.format(name=name, digits=digits)
    return ""


def _is_rounded(name: str, exact: Any, got: Any) -> bool:
    """Return whether a dtype can hold every number that came and not the exact ones, which are near."""
    is_near = first_difference(exact, got, Tolerance(), name) is None
    return is_near and _fits(got, BITS[name]) and not _fits(exact, BITS[name])


def _fits(tree: Any, bits: int) -> bool:
    """Return whether a mantissa of so many bits is enough for every float of the tree."""
    mantissas = np.ldexp(np.frexp(_floats(tree))[0], bits)
    return bool((mantissas == np.rint(mantissas)).all())


def _floats(tree: Any) -> Array:
    """Return the different finite floats of the tree."""
    arrays = [array for array in map(to_numpy, leaves(tree)) if array is not None and array.dtype.kind == "f"]
    floats = np.concatenate([np.empty(0), *(array.astype(np.float64).ravel() for array in arrays)])
    return np.unique(floats[np.isfinite(floats)])
