"""What a student is told of a precision that is not that of the arguments."""

from __future__ import annotations

from typing import Any

from grader.comparison import Tolerance, first_difference

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


def widening(library: str, have: str, due: str) -> str:
    """Where a float64 comes from that nobody asked for."""
    return WIDENS if library == "numpy" and (have, due) == ("float64", "float32") else ""


def lost_digits(library: str, dtype: str | None, exact: Any, got: Any) -> str:
    """Said where float64 was due and what came is no further off than a few roundings of float32."""
    if dtype != "float64" or first_difference(exact, got, Tolerance(), "float32"):
        return ""
    return LOST + FLOAT32[library]
