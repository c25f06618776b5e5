"""Equivalent mutants: correct answers, listed by hand with a reason in the kata's `equivalent.toml`.

    [[equivalent]]
    where = "normalize"
    was = "largest = x.max(axis=axis, keepdims=True)"
    now = "largest = x.max(keepdims=True)"
    because = "What is subtracted cancels, as long as it is one number a slice."

An entry names a change, not a line number, so that it survives edits elsewhere. An entry that matches no
mutant is reported.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from grader.course.catalog import CourseError, shorten
from grader.edits.mutants import Mutant

FILE_NAME = "equivalent.toml"
FIELDS = {"where", "was", "now", "because"}


@dataclass(frozen=True)
class EquivalentMutant:
    """One change that keeps the answer correct, and the reason."""

    where: str
    was: str
    now: str
    because: str

    def matches(self, mutant: Mutant) -> bool:
        """Return whether the mutant has this change."""
        return (self.where, self.was.strip(), self.now.strip()) == (mutant.where, mutant.was, mutant.now)


def read_equivalents(path: Path) -> list[EquivalentMutant]:
    """Return the equivalent mutants of one kata, if any. Raises CourseError if the file is malformed."""
    if not path.is_file():
        return []
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{shorten(path)} cannot be read: {error}.") from None
    entries = found.get("equivalent")
    if set(found) != {"equivalent"} or not isinstance(entries, list):
        raise CourseError(f"{shorten(path)} must consist of tables [[equivalent]].")
    return [_equivalent(path, entry) for entry in entries]


def entry_text(mutant: Mutant) -> str:
    """Return the entry of a mutant, ready to paste; it is refused until `because` gives the reason."""
    fields = {"where": mutant.where, "was": mutant.was, "now": mutant.now, "because": ""}
    lines = [f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in fields.items()]
    return "\n".join(["[[equivalent]]", *lines])


def _equivalent(path: Path, entry: object) -> EquivalentMutant:
    if not isinstance(entry, dict) or set(entry) != FIELDS:
        raise CourseError(f"{shorten(path)}: each [[equivalent]] has {', '.join(sorted(FIELDS))}.")
    if not all(isinstance(value, str) for value in entry.values()) or not entry["because"].strip():
        raise CourseError(f"{shorten(path)}: each [[equivalent]] holds texts, and says why in `because`.")
    return EquivalentMutant(**entry)
