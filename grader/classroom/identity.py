"""Find out who a submission's folder belongs to: Gradescope's metadata, and logins in names of repositories.

Gradescope's export has folders `submission_123` and one file that says whose they are. Classroom and
Classroom 50 name a repository after the assignment and the student's login: `hw1-ada`, `course-hw1-ada`.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.classroom.platform_filenames import StudentName
from grader.classroom.roster import Roster, table_in
from grader.course.catalog import CourseError, shorten
from grader.course.files import read_file

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
            replace(_student(folder, one, len(found) > 1), time=times.get(folder, ""), platform="gradescope")
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


def _student(folder: str, fields: dict[str, str], is_group: bool) -> StudentName:
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
