"""Write numbers and lists of names as parts of a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: float, noun: str) -> str:
    """Return the number with the noun in the singular or the plural: `1 gap`, `2 gaps`, `2.5 hours`."""
    return f"{number:.12g} {noun}" if number == 1 else f"{number:.12g} {noun}s"


def listed(names: Iterable[str], word: str = "and") -> str:
    """Return names with a word before the last one: `a, b and c`."""
    *first, last = [*names] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last
