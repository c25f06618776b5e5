"""The command `kata override`: set, list and take back points that a person gives."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from dojo_classroom.overrides import Override, Wanted, overrides, read_rows, remove, set_points
from dojo_classroom.store import existing_store, user
from grader.course.catalog import Course, CourseError
from grader.texts.escaping import one_line
from grader.texts.phrases import counted

AGAIN = "Run `kata grade` again to write it out."


@dataclass(frozen=True)
class OverrideOptions:
    """The options of `kata override`."""

    student: str | None
    name: str | None
    points: str | None
    why: str
    who: str | None
    lists: bool
    remove: bool
    table: Path | None
    output: Path
    store: str | None


def run(course: Course, options: OverrideOptions) -> None:
    """Do what the options say. Raises CourseError."""
    who, now = options.who or user(), datetime.now().astimezone()
    with closing(existing_store(options.store, options.output)) as store:
        if options.lists:
            click.echo("\n".join(map(_line, overrides(store))) or "Nobody's points are set by hand.")
        elif options.table:
            rows = read_rows(options.table)
            made = set_points(store, course, [row for row in rows if row.points], who, now)
            left = len(rows) - len(made)
            without = f", {counted(left, 'row')} without points left out" if left else ""
            click.echo(f"{counted(len(made), 'override')} set{without}. {AGAIN}")
        elif options.remove:
            student, name = _required(options.student, options.name)
            back = remove(store, student, name, who, now)
            click.echo(f"{one_line(back.student)}'s {back.kata} has the judged points again. {AGAIN}")
        else:
            student, name, points = _required(options.student, options.name, options.points)
            for override in set_points(store, course, [Wanted(student, name, points, options.why)], who, now):
                click.echo(f"{_line(override)}\n{AGAIN}")


def _required(*given: str | None) -> list[str]:
    """Return the arguments. Raises CourseError if one is missing."""
    found = [text for text in given if text is not None]
    if len(found) < len(given):
        raise CourseError('Name a student, a kata and points: kata override ada KATA 8 --why "…".')
    return found


def _line(override: Override) -> str:
    return f"{one_line(override.student)}  {override.kata}  {override.sentence}"
