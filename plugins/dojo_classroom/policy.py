"""Apply the policy of a course to judged points: late work, weights, the best of a group, and a total.

The policy is the file `policy.toml` beside the roster. Every table may be left out:

    timezone = "Europe/Berlin"       # of dates without an offset
    total = 100                      # what all points are worth; without it, the weighted points
    commits = false                  # students made the repositories: the times of commits do not count

    [late]
    grace = "15m"                    # not late yet
    per_day = 10                     # per cent of a kata's points for each day that has begun
    at_most = 50                     # per cent
    closed_after = "7d"              # what comes later has no points; days are those of the calendar

    [weeks]
    1 = ["insertion_sort", "merge_sort"]

    [deadlines]                      # of a kata, a week, a track or all; the one that says most counts
    "week 1" = 2026-11-20T23:59:00
    trees = 2026-12-18              # to the end of the day

    [extensions.ada]                 # by the id in the roster: a time more, or a date
    merge_sort = "2d"

    [weights]
    merge_sort = 2

    [best]
    "week 1" = 1                     # so many katas count, those with the most points

It is applied after judging and changes no stored verdict. Points are in hundredths.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct, ValidationError, convert

from dojo_classroom.overrides import Override, answer_of
from dojo_classroom.times import SHOWN, HandedIn
from grader.course.catalog import Course, CourseError, shorten
from grader.course.files import read_file
from grader.errors import reason_of
from grader.installing import install_command
from grader.report import KataReport
from grader.texts.bounds import first_names
from grader.texts.phrases import counted
from grader.texts.points import points

POLICY_FILE = "policy.toml"
ALL = "all"
UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
DAY = UNITS["d"]
END_OF_DAY = time(23, 59, 59)
DURATION = re.compile(r"(\d{1,4}) ?([mhd])")
TIMES = 'say "15m", "12h" or "2d"'
DATE = "write a date: 2026-11-20T23:59:00, without quotes."
LARGEST_WEIGHT = 1_000_000  # a weight, a total
YEARS = range(2000, 2101)


class Late(Struct, frozen=True, forbid_unknown_fields=True):
    """What late work costs: durations as text, and percentages of a kata's points."""

    grace: str = "0m"
    per_day: float = 0
    at_most: float = 100
    closed_after: str = ""


class Terms(Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of the file as they stand there. A deadline is a date, an extension a date or a duration."""

    timezone: str = ""
    total: float = 0
    commits: bool = True
    late: Late = Late()
    weeks: dict[str, list[str]] = {}
    deadlines: dict[str, Any] = {}
    extensions: dict[str, dict[str, Any]] = {}
    weights: dict[str, float] = {}
    best: dict[str, int] = {}


@dataclass(frozen=True)
class Mark:
    """The points of one kata after the policy. `reasons` are sentences for the student; `is_set` says that a
    person has set the points, `is_open` that one should look at them. `ungraded` are the written answers that
    nobody has graded yet."""

    judged: int
    points: int
    reasons: tuple[str, ...] = ()
    is_set: bool = False
    is_open: bool = False
    ungraded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Marks:
    """The points of a student's katas, by kata, and the total."""

    katas: Mapping[str, Mark]
    total: int
    possible: int


class Policy:
    """The terms of a course. Without a file nothing is late, and every point counts."""

    def __init__(self, terms: Terms | None = None, tracks: Mapping[str, Sequence[str]] | None = None) -> None:
        """`tracks` holds the katas of the course by track. Raises CourseError for terms that are wrong."""
        self.terms, self._tracks = terms or Terms(), tracks or {}
        self._weeks = {f"week {name}": katas for name, katas in self.terms.weeks.items()}
        self._require_valid()

    @property
    def has_deadlines(self) -> bool:
        """Whether the policy asks when work was handed in."""
        return bool(self.terms.deadlines or self.terms.extensions)

    @cached_property
    def zone(self) -> tzinfo | None:
        """The zone of dates without an offset. Raises CourseError if this machine does not know it."""
        if not self.terms.timezone:
            return None
        try:
            return ZoneInfo(self.terms.timezone)
        except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
            raise CourseError(
                f"timezone: {self.terms.timezone} is not known here; write Europe/Berlin or the like."
                f" Where a system has no list of time zones: {install_command('tzdata')}"
            ) from None

    def marks(
        self,
        student: str,
        katas: Sequence[KataReport],
        handed_in: Mapping[str, HandedIn],
        overrides: Mapping[str, Override],
        now: datetime,
        versions: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> Marks:
        """Return the student's points. `handed_in` says when each kata was handed in; a time after
        `now`, when the class is graded, is that of a wrong clock, and takes no points away.
        `versions` says which version of a kata counts, where there are two."""
        marks = {}
        for kata in katas:
            if override := overrides.get(kata.name):
                marks[kata.name] = Mark(kata.score, override.points, (override.sentence,), is_set=True)
            else:
                given = {name: own for name in overrides if (own := answer_of(name, kata.name))}
                score = kata.score + sum(overrides[name].points for name in given)
                mark = self.mark(student, kata, score, handed_in.get(kata.name), now)
                said = [f"{own}: {overrides[name].sentence}" for name, own in given.items()]
                answers = (check.name for check in kata.checks if check.words)
                ungraded = tuple(name for name in answers if name not in given.values())
                reasons = (*said, *mark.reasons, *versions.get(kata.name, ()))
                marks[kata.name] = replace(mark, judged=kata.score, reasons=reasons, ungraded=ungraded)
        return self._with_total(katas, marks)

    def mark(self, student: str, kata: KataReport, score: int, when: HandedIn | None, now: datetime) -> Mark:
        """Return the points of a kata after what its delay costs; `score` are those before."""
        due, late = self.deadline(student, kata.name), self.terms.late
        if due is None or when is None or not kata.checks:
            return Mark(score, score)
        if min(when.at or now, now) <= self.end(due):
            return Mark(score, score)
        if when.at is None or when.at > now:
            ahead = f"the clock of {when.source} is ahead" if when.at else when.source
            text = f"Nobody knows when it was handed in ({ahead}); it counts as in time."
            return Mark(score, score, (text,), is_open=True)
        at = when.at
        told = f"Handed in {self._shown(at)} ({when.source}), due {self._shown(due)}"
        if late.closed_after and at > self._later(due, late.closed_after):
            return Mark(score, 0, (f"{told}: too late, no points.",))
        zone = self.zone or due.tzinfo
        wall = at.astimezone(zone).replace(tzinfo=None) - due.astimezone(zone).replace(tzinfo=None)
        days = max(1, math.ceil(wall / DAY))  # a night in which the clocks change is no day more
        percent = min(days * late.per_day, late.at_most)
        lost = round(kata.max_score * percent / 100)
        text = f"{told}: {counted(days, 'day')} late, {_points(lost)} less."
        return Mark(score, max(0, score - lost), (text,))

    def deadline(self, student: str, kata: str) -> datetime | None:
        """Return until when a student can hand in a kata, with this student's extension; None if whenever."""
        base = self._due(kata)
        own = self._of_student(student)
        more = next((own[name] for name in self._names(kata, own)), None)
        if isinstance(more, str):
            return self._later(base, more) if base else None
        return self._moment(more) if more is not None else base

    def end(self, due: datetime) -> datetime:
        """Return until when work is not late, as the policy has a time of grace after a deadline."""
        return self._later(due, self.terms.late.grace)

    def is_due(self, student: str, kata: str, now: datetime) -> bool:
        """Return whether a student had to have handed in a kata; also if it has no deadline."""
        due = self.deadline(student, kata)
        return due is None or due <= now

    def handed_out(self, katas: Iterable[str], begun: Collection[str], now: datetime) -> list[str]:
        """Return the katas that count: those that somebody has begun, those of a week that has begun or is
        due, and those whose own deadline has passed."""
        katas, named = list(katas), self.terms.deadlines
        out = {*begun, *(kata for kata in katas if kata in named and self._moment(named[kata]) <= now)}
        for week, of_week in self._weeks.items():
            is_due = week in named and self._moment(named[week]) <= now
            out |= set(of_week) if is_due or out & set(of_week) else set()
        return [kata for kata in katas if kata in out]

    def _later(self, moment: datetime, duration: str) -> datetime:
        """Return the moment after `15m`, `12h` or `2d`. A day ends at the same time of the clock on the wall,
        also where the clocks change; hours and minutes are those that pass."""
        found = DURATION.fullmatch(duration)
        if not found:
            return moment
        zone, length = self.zone or moment.tzinfo, int(found[1]) * UNITS[found[2]]
        if found[2] == "d":
            wall = moment.astimezone(zone).replace(tzinfo=None) + length
            return wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
        return (moment.astimezone(UTC) + length).astimezone(zone)

    def _due(self, kata: str) -> datetime | None:
        """Return the deadline of a kata for everybody."""
        due = next((self.terms.deadlines[name] for name in self._names(kata, self.terms.deadlines)), None)
        return self._moment(due) if due is not None else None

    def _katas_of(self, name: str) -> list[str]:
        """Return the katas that a name in a table means."""
        return [kata for katas in self._tracks.values() for kata in katas if self._names(kata, [name])]

    def require_students(self, ids: Collection[str]) -> None:
        """Raise CourseError for an extension of somebody who is not in the roster."""
        known = {name.casefold() for name in ids}
        for student in self.terms.extensions:
            text = "nobody in the roster has this id."
            _require(student.casefold() in known, f"{POLICY_FILE}: extensions.{student}", text)

    def _of_student(self, student: str) -> Mapping[str, Any]:
        found = (own for name, own in self.terms.extensions.items() if name.casefold() == student.casefold())
        return next(found, {})

    def _names(self, kata: str, table: Iterable[str]) -> list[str]:
        """Return the names in a table that mean this kata, the one that says most first."""
        groups = {**self._weeks, **self._tracks}
        meant = [kata, *(name for name, katas in groups.items() if kata in katas), ALL]
        return [name for name in meant if name in table]

    def _with_total(self, katas: Sequence[KataReport], marks: dict[str, Mark]) -> Marks:
        """Return the points with their weighted total; what is not among the best of a group is left out."""
        possible = {kata.name: kata.max_score for kata in katas}
        counting = list(possible)
        for group, most in self.terms.best.items():
            of_group = [name for name in counting if group in self._names(name, [group])]
            ranked = sorted(of_group, key=lambda name: -marks[name].points / (possible[name] or 1))
            for name in ranked[most:]:
                counting.remove(name)
                text = f"Not in the total: the best {most} of {group} count."
                marks[name] = replace(marks[name], reasons=(*marks[name].reasons, text))
        weights = {name: self._weight(name) for name in counting}
        got = sum(weights[name] * marks[name].points for name in counting)
        whole = sum(weights[name] * possible[name] for name in counting)
        if not self.terms.total:
            return Marks(marks, round(got), round(whole))
        total = round(100 * self.terms.total)
        return Marks(marks, round(total * got / whole) if whole else 0, total)

    def _weight(self, kata: str) -> float:
        return math.prod(self.terms.weights[name] for name in self._names(kata, self.terms.weights))

    def _shown(self, moment: datetime) -> str:
        return moment.astimezone(self.zone).strftime(SHOWN)

    def _moment(self, due: datetime | date) -> datetime:
        """Return a date with a zone. Raises CourseError if there is none."""
        if due.year not in YEARS:
            raise CourseError(f"{due:%Y-%m-%d} is no date of a course.")
        if not isinstance(due, datetime):
            due = datetime.combine(due, END_OF_DAY)
        if due.tzinfo is None and self.zone is None:
            raise CourseError(
                f'{due:{SHOWN}} has no time zone: add timezone = "Europe/Berlin" at the top, or an offset'
                " to the date (2026-11-20T23:59:00+01:00)."
            )
        return due if due.tzinfo else due.replace(tzinfo=self.zone)

    def _require_valid(self) -> None:
        """Raise CourseError for the first entry that means nothing."""
        terms, _ = self.terms, self.zone
        for name in ("grace", "closed_after"):
            if text := getattr(terms.late, name):
                _require(DURATION.fullmatch(text), f"late.{name}", f"`{text}` is no time; {TIMES}.")
        for name in ("per_day", "at_most"):
            value = getattr(terms.late, name)
            _require(0 <= value <= 100, f"late.{name}", f"{value:g} must be per cent, from 0 to 100.")
        _require(
            0 <= terms.total <= LARGEST_WEIGHT,
            "total",
            f"{terms.total:g} must be from 0 to {LARGEST_WEIGHT:,}.",
        )
        self._require_weeks()
        for table in ("deadlines", "weights", "best"):
            for name, value in getattr(terms, table).items():
                self._require_name(table, name)
                fits = not isinstance(value, int | float) or 0 <= value <= LARGEST_WEIGHT
                _require(fits, f"{table}.{name}", f"{value} must be from 0 to {LARGEST_WEIGHT:,}.")
        for name, due in terms.deadlines.items():
            _require(isinstance(due, date), f"deadlines.{name}", DATE)
            self._moment(due)
        for student, own in terms.extensions.items():
            self._require_extensions(student, own)

    def _require_weeks(self) -> None:
        known = {name for katas in self._tracks.values() for name in katas}
        seen: dict[str, str] = {}
        for week, katas in self.terms.weeks.items():
            for name in katas:
                _require(name in known, f"weeks.{week}", f"there is no kata `{name}`.")
                _require(name not in seen, f"weeks.{week}", f"`{name}` is in week {seen.get(name)} too.")
                seen[name] = week

    def _require_extensions(self, student: str, own: Mapping[str, Any]) -> None:
        for name, more in own.items():
            where = f"extensions.{student}.{name}"
            self._require_name(f"extensions.{student}", name)
            if isinstance(more, date):
                moment, katas = self._moment(more), self._katas_of(name)
                before = [due for kata in katas if (due := self._due(kata)) and due > moment]
                _require(not before, where, f"{more:%Y-%m-%d} is before the deadline.")
                continue
            _require(isinstance(more, str), where, DATE)
            _require(DURATION.fullmatch(more), where, f"`{more}` is no time; {TIMES}.")
            _require(any(map(self._due, self._katas_of(name))), where, f"`{name}` has no deadline to extend.")

    def _require_name(self, table: str, name: str) -> None:
        known = {kata for katas in self._tracks.values() for kata in katas}
        groups = [*self._weeks, *self._tracks]
        quoted = first_names([f"`{group}`" for group in groups])
        text = f"nothing is called `{name}`; name a kata, {quoted} or `all`."
        _require(name in known or name in groups or name == ALL, table, text)


def _require(holds: object, where: str, text: str) -> None:
    if not holds:
        raise CourseError(f"{where}: {text}")


def _points(hundredths: int) -> str:
    return f"{points(hundredths)} {'point' if hundredths == 100 else 'points'}"


def read_policy(path: Path, course: Course) -> Policy:
    """Read the policy. Raises CourseError that names the file and the entry that is wrong."""
    label = shorten(path)
    tracks: dict[str, list[str]] = {}
    for info in course.katas.values():
        tracks.setdefault(info.track, []).append(info.name)
    try:
        found = tomllib.loads(read_file(path, follows_links=True).decode("utf-8-sig"))
        return Policy(convert(found, Terms), tracks)
    except OSError as error:
        raise CourseError(f"{label} cannot be read: {reason_of(error)}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{label} cannot be read as TOML: {error}.") from None
    except ValidationError as error:
        text, _, where = str(error).partition(" - at `$")
        place = f"{where.strip('.`')}: " if where.strip(".`") else ""
        raise CourseError(f"{label}: {place}{text[:1].lower()}{text[1:]}.") from None
    except CourseError as error:
        raise CourseError(f"{label}: {error}") from None
