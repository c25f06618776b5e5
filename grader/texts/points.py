"""Write points, which are hundredths, as text and as numbers of JSON."""

from __future__ import annotations


def points(hundredths: int) -> str:
    """Return hundredths of points as text without trailing zeros: `3`, `0.5`, `1234.25`."""
    whole, rest = divmod(abs(hundredths), 100)
    text = f"{whole}.{rest:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if hundredths < 0 else text


def number(hundredths: int) -> int | float:
    """Return hundredths of points as a number for JSON, which is an integer if the points are whole."""
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100
