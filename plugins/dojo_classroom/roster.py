"""The roster of a class, to which submissions are matched: a CSV file, or Canvas's or Moodle's export.

Find out who a submission's folder belongs to: Gradescope's metadata, and logins in names of repositories.

Gradescope's export has folders `submission_123` and one file that says whose they are. Classroom and
Classroom 50 name a repository after the assignment and the student's login: `hw1-ada`, `course-hw1-ada`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from dojo_classroom.platform_filenames import StudentName
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
#: The column of Moodle's grading worksheet that says when a submission came.
LAST_MODIFIED = "last modified (submission)"
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
        """Return the members who have the student's name, or an id that a platform writes as a name: students
        can choose it, so that it identifies none."""
        names = (*(alias for alias in student.names if alias != student.platform_id), *student.called)
        found = [self._names.get(_folded(alias), []) for alias in names]
        if student.platform_id:
            found += [[self._ids[name]] for name in map(_folded, student.called) if name in self._ids]
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


FOLDER = re.compile(r"([\w.-]+):\s*")
CREATED = re.compile(r"  :created_at: ?(.*)")
FIELD = re.compile(r"  (?:- |  ):(name|sid|email): ?(.*)")
LOGIN = ("github_username", "username", "login")
IDENTIFIERS = ("identifier", "email", "email address", "id", "student id", "id number")
NAMES = ("name", "full name")


def gradescope_people(text: str) -> dict[str, list[StudentName]]:
    """Return the students of each folder of Gradescope's export, of which a group has several.

    Only the lines of `:submitters:` and `:created_at:` are read, as plain or quoted text. No alias or tag of
    YAML is followed.
    """
    people: dict[str, list[dict[str, str]]] = {}
    times: dict[str, str] = {}
    folder, is_open = "", False
    for line in text.splitlines():
        if line[:1].strip():
            found = FOLDER.fullmatch(line)
            folder, is_open = (found[1] if found else ""), False
        elif re.match(r"  [^ -]", line):
            is_open = bool(folder) and line.rstrip() == "  :submitters:"
            if created := CREATED.fullmatch(line):
                times.setdefault(folder, _scalar(created[1].strip()))
        elif is_open and (field := FIELD.fullmatch(line)):
            submitters = people.setdefault(folder, [])
            if line.startswith("  - ") or not submitters:
                submitters.append({})
            submitters[-1].setdefault(field[1], _scalar(field[2].strip()))
    return {
        folder: [
            replace(
                _student(folder, one, is_group=len(found) > 1),
                time=times.get(folder, ""),
                platform="gradescope",
            )
            for one in found
        ]
        for folder, found in people.items()
    }


def _scalar(text: str) -> str:
    """Return the text of a plain or quoted value."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return text


def _student(folder: str, fields: dict[str, str], *, is_group: bool) -> StudentName:
    """Return a student of a folder. The name, which a student can change, is no id."""
    ids = [fields[name] for name in ("email", "sid") if fields.get(name)]
    name = fields.get("name", "")
    key = ids[0] if ids else f"{folder} {name}".strip() if is_group else folder
    return StudentName(key, (*ids[1:], folder), called=(name,) if name else ())


@dataclass(frozen=True)
class Person:
    """What a list of logins says about one: identifiers of the roster, and the name."""

    identifiers: tuple[str, ...]
    name: str


def read_logins(path: Path) -> dict[str, Person]:
    """Return who has which login, from the roster of Classroom or Classroom 50. Raises CourseError."""
    label = shorten(path)
    try:
        titles, *cells = table_in(read_file(path, follows_links=True).decode("utf-8-sig")) or [[]]
        titles = [title.strip().casefold() for title in titles]
        rows = [dict(zip(titles, map(str.strip, row), strict=False)) for row in cells if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"The logins {label} cannot be read: {message.lower()}.") from None
    title = next((title for title in LOGIN if rows and title in rows[0]), "")
    if not title:
        raise CourseError(
            f"The logins {label} need a column `github_username` or `username`, as Classroom exports them."
        )
    people: dict[str, Person] = {}
    owner: dict[str, str] = {}
    for row in rows:
        if login := row[title].casefold():
            ids = tuple(row[name] for name in IDENTIFIERS if row.get(name))
            names = [row[name] for name in NAMES if row.get(name)]
            whole = f"{row.get('first_name', '')} {row.get('last_name', '')}".strip()
            for name in {login, *(one.casefold() for one in ids)}:
                if owner.setdefault(name, login) != login or (name == login and login in people):
                    raise CourseError(f"The logins {label} list {name} twice.")
            people[login] = Person(ids, names[0] if names else whole)
    return people


class Identities:
    """Adds to a submitting student what a list of logins and the names of all folders say."""

    def __init__(self, students: Iterable[StudentName], roster: Roster, logins: dict[str, Person]) -> None:
        self._logins = logins
        self._roster = roster
        self.prefix = self._assignment([one.key for one in students if not one.platform_id])

    def of(self, student: StudentName) -> StudentName:
        """Return the student with all names; the login is what follows the name of the assignment."""
        login = student.key
        if self.prefix and login.startswith(self.prefix) and not self._knows(login):
            login = login.removeprefix(self.prefix)
            student = replace(student, aliases=(*student.aliases, login))
        person = self._logins.get(login.casefold())
        if person is None:
            return student
        return replace(
            student,
            aliases=(*student.aliases, *person.identifiers),
            called=(*student.called, *([person.name] if person.name else [])),
        )

    def _knows(self, login: str) -> bool:
        return login.casefold() in self._logins or self._roster.identified(StudentName(login)) is not None

    def _assignment(self, folders: list[str]) -> str:
        """Return the beginning that all folders have in common, up to a hyphen, after which most logins are
        known; empty if there is none or two are as good."""
        if len(folders) < 2:
            return ""
        common = os.path.commonprefix(folders)  # noqa: RUF071  # these are names and no paths
        ends = [at + 1 for at, sign in enumerate(common) if sign == "-"]
        known = {common[:end]: sum(self._knows(name[end:]) for name in folders) for end in ends}
        most = max(known.values(), default=0)
        best = [prefix for prefix, count in known.items() if count == most]
        return best[0] if most and len(best) == 1 else ""
