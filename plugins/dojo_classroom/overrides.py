"""Keep points that a person has set: who, when and why, in a table to which rows are only added.

They are those of a kata, or of one written answer, which is called `kata.ANSWER`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from dojo_classroom.roster import table_in
from dojo_classroom.store import Store
from grader.course.catalog import Course, CourseError, shorten
from grader.course.files import read_file
from grader.errors import reason_of
from grader.texts.bounds import first_names
from grader.texts.escaping import one_line
from grader.texts.points import points

COLUMNS = ("student", "kata", "points", "why")
LONGEST_REASON = 1000  # characters


@dataclass(frozen=True)
class Override:
    """Points in hundredths that a person has set for a student's kata, or for a written answer of it; `at` is
    an ISO date with a zone."""

    student: str
    kata: str
    points: int
    who: str
    why: str
    at: str

    @property
    def sentence(self) -> str:
        """The override as a student reads it."""
        return f"Set to {points(self.points)} points by {self.who} on {self.at[:10]}: {one_line(self.why)}"


def answer_of(name: str, kata: str) -> str:
    """Return which written answer of a kata a name means; empty if it means none."""
    return name.removeprefix(f"{kata}.") if name.startswith(f"{kata}.") else ""


class Wanted(NamedTuple):
    """A row of the command line or of a CSV file."""

    student: str
    kata: str
    points: str
    why: str


def overrides(store: Store) -> list[Override]:
    """Return the overrides that hold, sorted by student and kata."""
    query = (
        "SELECT student, kata, points, who, why, made FROM overrides AS o WHERE number ="
        " (SELECT MAX(number) FROM overrides WHERE student = o.student AND kata = o.kata)"
        " AND points IS NOT NULL ORDER BY student, kata"
    )
    return [Override(*row) for row in store.rows(query)]


def by_student(store: Store) -> dict[str, dict[str, Override]]:
    """Return the overrides that hold, by student and kata."""
    found: dict[str, dict[str, Override]] = {}
    for override in overrides(store):
        found.setdefault(override.student, {})[override.kata] = override
    return found


def set_points(store: Store, course: Course, rows: list[Wanted], who: str, now: datetime) -> list[Override]:
    """Add overrides, all or none, and return them. Raises CourseError for the first row that is wrong."""
    made = [_checked(store, course, row, who, now) for row in rows]
    for override in made:
        _add(store, override, override.points)
    store.commit()
    return made


def remove(store: Store, student: str, kata: str, who: str, now: datetime) -> Override:
    """Take an override back and return it; the rows stay. Raises CourseError if there is none."""
    member = store.id_of(student)
    held = next((one for one in overrides(store) if (one.student, one.kata) == (member, kata)), None)
    if held is None:
        raise CourseError(f"{student} has no override for `{kata}`. `kata override --list` shows them all.")
    _add(store, Override(member, kata, 0, who, "", now.isoformat(timespec="seconds")), None)
    store.commit()
    return held


def read_rows(path: Path) -> list[Wanted]:
    """Read a CSV file, as rosters are, with the columns student, kata, points and why. Raises CourseError."""
    label = shorten(path)
    try:
        first, *rows = table_in(read_file(path, follows_links=True).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "it is no CSV file"
        raise CourseError(f"{label} cannot be read: {reason}.") from None
    titles = [title.strip().casefold() for title in first]
    missing = next((name for name in COLUMNS if name not in titles), None)
    if missing:
        raise CourseError(f"{label} needs the columns {', '.join(COLUMNS)}; there is no `{missing}`.")
    cells = [dict(zip(titles, map(str.strip, row), strict=False)) for row in rows if any(row)]
    return [Wanted(*(row.get(name, "") for name in COLUMNS)) for row in cells]


def _checked(store: Store, course: Course, row: Wanted, who: str, now: datetime) -> Override:
    """Return the override that a row asks for. Raises CourseError if there is no such student, kata or
    answer, the points are not among those possible, or no reason is given."""
    kata, _, answer = row.kata.partition(".")
    member, info = store.id_of(row.student), course.kata_info(kata)
    name, most = info.name, info.max_score
    if answer:
        if answer not in info.written:
            there = first_names(list(info.written)) or "none"
            raise CourseError(f"{info.name} has no written answer {one_line(answer)}; it has {there}.")
        name, most = f"{info.name}.{answer}", round(100 * info.written[answer][0])
    hundredths = _hundredths(row.points)
    if hundredths is None or not 0 <= hundredths <= most:
        raise CourseError(f"{row.points} points for {name}: say 0 to {points(most)}.")
    why = row.why.strip()
    if not why or len(why) > LONGEST_REASON:
        text = f'say why in at most {LONGEST_REASON:,} characters: --why "…"'
        raise CourseError(f"{row.student}'s {name}: {text}.")
    return Override(member, name, hundredths, who, why, now.isoformat(timespec="seconds"))


def _hundredths(text: str) -> int | None:
    """Return points as hundredths; None if it is no number with at most two digits after the point."""
    whole, _, rest = text.strip().partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) < 7 and len(rest) <= 2):
        return None
    return int(whole) * 100 + int(rest.ljust(2, "0")) if not rest or rest.isdigit() else None


def _add(store: Store, override: Override, hundredths: int | None) -> None:
    ((number,),) = store.rows("SELECT COALESCE(MAX(number), 0) + 1 FROM overrides")
    store.add_row(
        "overrides",
        number=number,
        student=override.student,
        kata=override.kata,
        points=hundredths,
        who=override.who,
        why=override.why,
        made=override.at,
    )
