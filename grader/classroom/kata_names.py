"""Recognise the kata that a file answers by the file's name, however a student or a platform spells it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

#: What platforms and browsers append to the name of a resubmitted file: `-1`, ` (2)`.
RESUBMITTED = re.compile(r"((?:-\d+| ?\(\d+\))+)$")
NO_ANSWER = {"test", "tests"}  # words in the names of a student's own tests

EXACT, RESPELLED, WITHIN = range(3)


class KataNames:
    """The names of a course's katas, and the old names of those that were renamed."""

    def __init__(self, names: Iterable[str], renamed: Mapping[str, str] = MappingProxyType({})) -> None:
        present = frozenset(names)
        self._new = {old: new for old, new in renamed.items() if new in present and old not in present}
        self.names = present | self._new.keys()
        self._respelled = {name.replace("_", ""): name for name in self.names}

    def find(self, stem: str) -> tuple[int, str] | None:
        """Return how exactly a file's name, without its suffix, names a kata, and the kata.

        None if it names no kata, or more than one. An old name counts as the new one.
        """
        found = self._find(stem)
        return (found[0], self._new.get(found[1], found[1])) if found else None

    def _find(self, stem: str) -> tuple[int, str] | None:
        stem = RESUBMITTED.sub("", stem)
        if stem in self.names:
            return EXACT, stem
        words = re.findall(r"[a-z0-9]+", stem.casefold())
        respelled = self._respelled.get("".join(words))
        if respelled:
            return RESPELLED, respelled
        within = [] if NO_ANSWER & set(words) else self._within("_".join(words))
        return (WITHIN, within[0]) if len(within) == 1 else None

    def _within(self, spelled: str) -> list[str]:
        """Return the katas whose names occur in the text as whole words, without those inside longer ones."""
        found = [name for name in self.names if f"_{name}_" in f"_{spelled}_"]
        return [name for name in found if not any(name != other and name in other for other in found)]


def resubmission(stem: str) -> tuple[int, ...]:
    """Return the numbers that were appended to the name of a resubmitted file; empty for the first one."""
    found = RESUBMITTED.search(stem)
    return tuple(map(int, re.findall(r"\d+", found[1]))) if found else ()
