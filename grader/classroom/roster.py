"""The roster of a class: a CSV file with columns `id` and `name`, to which submissions are matched."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.platform_filenames import StudentName
from grader.course.catalog import CourseError, shorten

#: The accepted titles of each column.
COLUMNS = {
    "id": ("id", "student", "student id", "student_id", "id number", "login", "username", "sis login id"),
    "name": ("name", "full name", "student name"),
    "section": ("section",),
}


@dataclass(frozen=True)
class Member:
    """A student of the class, or one who submitted without being on the roster."""

    id: str
    name: str = ""
    section: str = ""
    platform_id: str = ""


class Roster:
    """The members of a class, found by id or by a name that is unique in the class."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members
        ids = {_folded(member.id): member for member in members}
        spelled = [(spelling, member) for member in members for spelling in _spellings(member.name)]
        counts = Counter(spelling for spelling, _ in spelled)
        self._known = {spelling: member for spelling, member in spelled if counts[spelling] == 1} | ids

    def member(self, student: StudentName) -> Member | None:
        """Return the member that one of the student's names identifies, or None."""
        for alias in student.names:
            found = self._known.get(_folded(alias))
            if found:
                return Member(found.id, found.name, found.section, student.platform_id)
        return None


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def _spellings(name: str) -> set[str]:
    """Return the ways in which people and platforms write a name: `Jane Doe`, `Doe, Jane`, `doejane`."""
    last, comma, first = name.partition(",")
    words = [*first.split(), *last.split()] if comma else name.split()
    if not words:
        return set()
    return {_folded("".join(words)), _folded(words[-1] + "".join(words[:-1])), _folded(name)}


def read_roster(path: Path) -> Roster:
    """Read the roster. Raises CourseError if it cannot be read, lacks ids or repeats one."""
    label = shorten(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"The roster {label} cannot be read: {told.lower()}.") from None
    if not rows:
        raise CourseError(f"The roster {label} is empty.")
    at = _columns(rows[0], label)
    members = [
        Member(**{what: row[index].strip() for what, index in at.items() if index < len(row)})
        for row in rows[1:]
        if at["id"] < len(row) and row[at["id"]].strip()
    ]
    counts = Counter(_folded(member.id) for member in members)
    repeated = next((member.id for member in members if counts[_folded(member.id)] > 1), None)
    if repeated:
        raise CourseError(f"The roster {label} lists the id {repeated} twice.")
    return Roster(members)


def _columns(header: list[str], label: str) -> dict[str, int]:
    titles = [title.strip().casefold() for title in header]
    at = {
        what: next(titles.index(name) for name in names if name in titles)
        for what, names in COLUMNS.items()
        if any(name in titles for name in names)
    }
    if "id" not in at:
        raise CourseError(f"The roster {label} needs a column `id`; its first line has {', '.join(header)}.")
    return at
