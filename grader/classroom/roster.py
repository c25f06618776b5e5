"""The roster of a class, to which submissions are matched: a CSV file, or Canvas's or Moodle's export."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from grader.classroom.platform_filenames import StudentName
from grader.course.catalog import CourseError, shorten
from grader.course.files import read_file


@dataclass(frozen=True)
class Layout:
    """The titles, in lower case, that the columns of a roster may have.

    The first of `ids` that a row fills is the student's id; the others identify the student as well.
    """

    ids: tuple[str, ...]
    name: tuple[str, ...] = ("name", "full name", "student name")
    section: tuple[str, ...] = ("section", "groups")
    number: str = ""  # the column with the number that the platform puts into the names of files


CANVAS = Layout(("sis login id", "sis user id", "id"), name=("student",), number="id")
MOODLE = Layout(
    ("id number", "username", "email address", "email", "identifier"), ("full name",), number="identifier"
)
OWN = Layout(
    (
        *("id", "student", "student id", "student_id", "id number", "identifier", "login", "username"),
        *("github_username", "sis login id", "email"),
    )
)
FIRST, LAST = ("first name", "firstname"), ("last name", "surname", "lastname")
#: A column by which an instructor says which submission is whose.
SUBMISSION = "submission"
POINTS_POSSIBLE = "points possible"
NO_STUDENTS = (POINTS_POSSIBLE, "student, test")  # rows of Canvas's export


@dataclass(frozen=True)
class Member:
    """A student of the class, or one who submitted without being on the roster.

    `others` are other ids, `number` the one in the platform's file names, `submission` the folder that the
    instructor named. `columns` is the row of the roster, by titles in lower case.
    """

    id: str
    name: str = ""
    section: str = ""
    platform_id: str = ""
    others: tuple[str, ...] = ()
    number: str = ""
    submission: str = ""
    columns: Mapping[str, str] = field(default_factory=dict, compare=False)


class Roster:
    """The members of a class, found by an id, by the platform's number, or by name.

    `layout` is that of the file; the number in a file's name is compared with its column of numbers alone.
    `header` holds the titles as they stand in the file, `possible` Canvas's row of possible points.
    """

    def __init__(
        self,
        members: list[Member],
        layout: Layout = OWN,
        header: Iterable[str] = (),
        possible: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.members, self.layout = members, layout
        self.header, self.possible = tuple(header), possible
        self.titles = frozenset(title for member in members for title in member.columns)
        self._own_ids = {_folded(member.id): member for member in members}
        others = _grouped(
            (text, member) for member in members for text in (*member.others, member.submission)
        )
        self._ids = {text: found[0] for text, found in others.items() if len(found) == 1} | self._own_ids
        numbers = {member.number: member for member in members if member.number}
        self._numbers = numbers if layout.number else self._ids
        self._names = _grouped(
            (text, member) for member in members if not member.submission for text in _spellings(member.name)
        )

    def __contains__(self, student: str) -> bool:
        return _folded(student) in self._own_ids

    def columns_of(self, student: str) -> Mapping[str, str]:
        """Return the row of the member with this id; empty if there is none."""
        return self._own_ids[_folded(student)].columns if student in self else {}

    def identified(self, student: StudentName) -> Member | None:
        """Return the member that an id or the platform's number identifies, or None."""
        for alias in student.names:
            known = self._numbers if alias == student.platform_id else self._ids
            found = known.get(_folded(alias))
            if found:
                return found
        return None

    def namesakes(self, student: StudentName) -> list[Member]:
        """Return the members who have the student's name."""
        names = (*(alias for alias in student.names if alias != student.platform_id), *student.called)
        found = (self._names.get(_folded(alias)) for alias in names)
        return next(filter(None, found), [])

    def member(self, student: StudentName) -> Member | None:
        """Return the only member that an id or the name fits, or None."""
        namesakes = self.namesakes(student)
        return self.identified(student) or (namesakes[0] if len(namesakes) == 1 else None)


def _grouped(pairs: Iterable[tuple[str, Member]]) -> dict[str, list[Member]]:
    """Return the members by text; empty texts are left out, and each member counts once for a text."""
    found: dict[str, list[Member]] = {}
    for text, member in pairs:
        members = found.setdefault(_folded(text), [])
        if member not in members:
            members.append(member)
    found.pop("", None)
    return found


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
        rows = table_in(read_file(path, follows_links=True).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"The roster {label} cannot be read: {message.lower()}.") from None
    if not rows:
        raise CourseError(f"The roster {label} is empty.")
    titles = [title.strip().casefold() for title in rows[0]]
    layout = _layout(titles)
    if not set(layout.ids) & set(titles):
        raise CourseError(f"The roster {label} needs a column `id`; its first line has {', '.join(rows[0])}.")
    cells = [dict(zip(titles, map(str.strip, row), strict=False)) for row in rows[1:]]
    members = [_member(row, layout, label) for row in cells if _is_student(row, layout)]
    counts = Counter(_folded(member.id) for member in members)
    repeated = next((member.id for member in members if counts[_folded(member.id)] > 1), None)
    if repeated:
        raise CourseError(f"The roster {label} lists the id {repeated} twice.")
    possible = (row for row in cells if _name(row, layout).casefold() == POINTS_POSSIBLE)
    return Roster(members, layout, rows[0], next(possible, {}))


def table_in(text: str) -> list[list[str]]:
    """Return the rows of a CSV file, whose cells are separated as its first line shows: by commas, semicolons
    or tabs. Raises csv.Error."""
    first = text.partition("\n")[0]
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count)))


def _layout(titles: list[str]) -> Layout:
    if "student" in titles and {"id", "sis user id", "sis login id"} & set(titles):
        return CANVAS
    of_moodle = set(FIRST) & set(titles) or {"identifier", "full name"} <= set(titles)
    return MOODLE if of_moodle else OWN


def _is_student(row: Mapping[str, str], layout: Layout) -> bool:
    name = _name(row, layout)
    return name.casefold() not in NO_STUDENTS and bool(name or any(row.get(title) for title in layout.ids))


def _member(row: Mapping[str, str], layout: Layout, label: str) -> Member:
    name = _name(row, layout)
    ids = [row[title] for title in layout.ids if row.get(title)]
    if not ids:
        raise CourseError(f"The roster {label} lists {name} without an id.")
    number = re.sub(r"\D", "", row.get(layout.number, ""))
    section = _first(row, layout.section)
    return Member(ids[0], name, section, number, tuple(ids[1:]), number, row.get(SUBMISSION, ""), row)


def _name(row: Mapping[str, str], layout: Layout) -> str:
    first, last = _first(row, (*FIRST, "first_name")), _first(row, (*LAST, "last_name"))
    return _first(row, layout.name) or f"{first} {last}".strip()


def _first(row: Mapping[str, str], titles: Iterable[str]) -> str:
    return next((row[title] for title in titles if row.get(title)), "")
