"""Answers that came before: what was found of them holds again, and only what is new is judged.

A check is a function of the answers: it knows nothing else of a submission. Where all answers to it, or to
one of its cases, are bit by bit those of an earlier submission, its finding holds. In a class most are, since
whoever is right computes the same, and so do those who make the same mistake.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any

from grader.worker.ahead import Answers

MOST_BYTES = 16 << 20  # of answers, for one kata
ENTRY = 400  # bytes of a finding that there is nothing wrong, with all that is needed to find it


class Grounds:
    """All answers on which a finding rests, by case: those to a check, and to the bank if it looks at those.
    Where that is `strict`, it rests on nothing if something was answered in vain."""

    def __init__(self, about: Hashable, *held: dict[int, Answers], strict: bool = False) -> None:
        self.about, self.held, self.strict = about, held, strict

    def __iter__(self) -> Iterator[Answers]:
        for answers in self.held:
            yield from answers.values()

    @cached_property
    def name(self) -> Hashable:
        """Equal for the same check, the same case and, bit by bit, the same answers."""
        everything = b"".join([answers.digest for answers in self])
        return self.about, hashlib.blake2b(everything, digest_size=16).digest()

    def of_case(self, case: int) -> Grounds:
        """Those of one case alone."""
        held = ({case: answers[case]} for answers in self.held)
        return Grounds((self.about, case), *held, strict=self.strict)

    @property
    def hold(self) -> bool:
        """Whether a finding may rest on them."""
        return not (self.strict and any(answers.in_vain for answers in self))

    @property
    def size(self) -> int:
        """Bytes of all answers."""
        return sum(answers.size for answers in self)


class Precedents:
    """Findings by the names of what they rest on; the one that nobody came upon for longest is forgotten."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._size = most_bytes, 0
        self._found: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def __contains__(self, name: Hashable) -> bool:
        return name in self._found

    def __getitem__(self, name: Hashable) -> Any:
        self._found.move_to_end(name)
        return self._found[name][0]

    def keep(self, name: Hashable, found: Any, size: int = 0) -> None:
        """Remember what was found; `size` is the bytes that it holds on to."""
        self._found[name] = found, size + ENTRY
        self._size += size + ENTRY
        while self._size > self._most:
            _, (_, forgotten) = self._found.popitem(last=False)
            self._size -= forgotten

    def settle(self, grounds: Grounds) -> bool:
        """Whether it is known what was found on the same grounds; then nobody needs to read them."""
        if grounds.name not in self:
            return False
        for answers in grounds:
            answers.accept()
        return True
