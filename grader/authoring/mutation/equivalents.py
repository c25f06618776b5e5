"""Mutants that are right answers: marked by hand, with a reason, in the kata's `equivalent.toml`.

    [[equivalent]]
    where = "softmax"
    was = "largest = x.max(axis=axis, keepdims=True)"
    now = "largest = x.max(keepdims=True)"
    because = "What is subtracted cancels, as long as it is one number a slice."

A mark names a change, not a line number, so that it outlives edits elsewhere; where the reference no longer
has the line, the mark is reported.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from grader.authoring.mutation.mutants import Mutant
from grader.course.catalog import CourseError, shorten

MARKS = "equivalent.toml"
FIELDS = {"where", "was", "now", "because"}


@dataclass(frozen=True)
class Mark:
    """One change that leaves the answer right, and why."""

    where: str
    was: str
    now: str
    because: str

    def fits(self, mutant: Mutant) -> bool:
        """Whether the mutant is the one that is meant."""
        return (self.where, self.was.strip(), self.now.strip()) == (mutant.where, mutant.was, mutant.now)


def read_marks(path: Path) -> list[Mark]:
    """The marks of one kata, none where there is no file. Raises CourseError."""
    if not path.is_file():
        return []
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{shorten(path)} cannot be read: {error}.") from None
    entries = found.get("equivalent")
    if set(found) != {"equivalent"} or not isinstance(entries, list):
        raise CourseError(f"{shorten(path)} must consist of tables [[equivalent]].")
    return [_mark(path, entry) for entry in entries]


def _mark(path: Path, entry: object) -> Mark:
    if not isinstance(entry, dict) or set(entry) != FIELDS:
        raise CourseError(f"{shorten(path)}: each [[equivalent]] has {', '.join(sorted(FIELDS))}.")
    if not all(isinstance(value, str) for value in entry.values()) or not entry["because"].strip():
        raise CourseError(f"{shorten(path)}: each [[equivalent]] holds texts, and says why in `because`.")
    return Mark(**entry)
