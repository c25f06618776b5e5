"""The precision that answers to a case can have, and messages about dtypes that lose or add precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.values.arrays import float_dtype, largest, leaves, terms_of, to_numpy
from grader.values.comparison import SAFETY, Tolerance, first_difference

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
    """Return the message for a float64 result whose numbers were rounded to float32; otherwise no text.

    A wrong constant may change as few digits, but its results are no numbers of float32.
    """
    if dtype != "float64" or first_difference(exact, got, Tolerance(), "float32"):
        return ""
    if not _are_rounded(got) or _are_rounded(exact):
        return ""
    return LOST_DIGITS + FLOAT32_SOURCES[library]


def _are_rounded(tree: Any) -> bool:
    """Return whether float32 can hold every float of the tree."""
    arrays = [array for array in map(to_numpy, leaves(tree)) if array is not None and array.dtype.kind == "f"]
    floats = np.concatenate([np.empty(0), *(array.astype(np.float64).ravel() for array in arrays)])
    floats = floats[np.isfinite(floats)]
    return bool((floats == floats.astype(np.float32)).all())
