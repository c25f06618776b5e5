"""What precision the answers to a case can have, and what a student is told of one that is not due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.values.arrays import float_dtype, largest, terms_of
from grader.values.comparison import SAFETY, Tolerance, first_difference

CANCELLED = 1 / SAFETY  # below it, the bound on the error of a sum stands without its factor of safety

WIDENS = (
    " In NumPy a float64 scalar or array widens float32: np.sqrt(64), np.zeros(3) and"
    " np.arange(3.0) are float64."
)
LOST = "The result is right to some 7 digits, as where float32 takes part; the arguments are float64."
FLOAT32 = {
    "numpy": " Look for a float32 on the way.",
    "torch": " torch.tensor(2.0), torch.ones(3) and the root of an integer tensor are float32: give them"
    " dtype=x.dtype.",
}


def plain_dtype(dtype: str | None) -> str | None:
    """The dtype whose digits an answer needs: float64 has a check of its own, and elsewhere float32's do."""
    return "float32" if dtype in ("float64", "float") else dtype


@dataclass(frozen=True)
class Precision:
    """The length of the longest sum that a case can make, the dtype of its floats, and a size below which
    results are noise beside the terms that have cancelled."""

    terms: int = 1
    dtype: str | None = None
    floor: float = 0.0

    def tolerance(self, roundings: float, times: int = 1) -> Tolerance:
        return Tolerance(times * self.terms, roundings, self.floor)


def precision_of(case: Any) -> Precision:
    """No result counts as smaller than a 64th of the largest float in the arrays of the case, or of 1 where
    that is larger, as masks are: the error of a sum goes with its terms, and they may cancel."""
    return Precision(
        terms_of(case), plain_dtype(float_dtype(case)), CANCELLED * min(1.0, _largest_float(case))
    )


def _largest_float(tree: Any) -> float:
    if isinstance(tree, dict | list | tuple):
        return max(map(_largest_float, tree.values() if isinstance(tree, dict) else tree), default=0.0)
    return largest(tree) if hasattr(tree, "shape") and float_dtype(tree) else 0.0


def widening(library: str, have: str, due: str) -> str:
    """Where a float64 comes from that nobody asked for."""
    return WIDENS if library == "numpy" and (have, due) == ("float64", "float32") else ""


def lost_digits(library: str, dtype: str | None, exact: Any, got: Any) -> str:
    """Said where float64 was due and what came is no further off than a few roundings of float32."""
    if dtype != "float64" or first_difference(exact, got, Tolerance(), "float32"):
        return ""
    return LOST + FLOAT32[library]
