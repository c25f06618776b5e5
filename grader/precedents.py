"""Answers that came before: what was found of them holds again, and only what is new is judged.

A check is a function of the answers: it knows nothing else of a submission. Where all answers to a case are,
bit by bit, those of an earlier submission, its finding holds. In a class most are, since whoever is right
computes the same, and so do those who make the same mistake.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

MOST_BYTES = 16 << 20  # of answers, for one kata
ENTRY = 400  # bytes of a finding that there is nothing wrong, with all that is needed to find it

Found = TypeVar("Found")


class Precedents(Generic[Found]):
    """Findings by what was asked and answered. Those that nobody has come upon for longest are forgotten."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._size = most_bytes, 0
        self._found: OrderedDict[Hashable, tuple[Found, int]] = OrderedDict()

    def __contains__(self, answered: Hashable) -> bool:
        return answered in self._found

    def __getitem__(self, answered: Hashable) -> Found:
        self._found.move_to_end(answered)
        return self._found[answered][0]

    def keep(self, answered: Hashable, found: Found, size: int) -> None:
        """Remember what was found; `size` is the bytes that it holds on to."""
        self._found[answered] = found, size + ENTRY
        self._size += size + ENTRY
        while self._size > self._most:
            _, (_, forgotten) = self._found.popitem(last=False)
            self._size -= forgotten
