"""The command `kata regrade`: judge again what a student handed in, by the course as it was on a day."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

import click

from dojo_classroom.store import Store, existing_store
from dojo_classroom.times import SHOWN
from grader.cli.options import GradeOptions
from grader.cli.run import grade_submission
from grader.course.catalog import Course, CourseError
from grader.course.git import Allowance, NoAnswer, Repository
from grader.course.secret_seed import seed_of
from grader.texts.escaping import one_line

GIT_SECONDS, LARGEST_COURSE = 120.0, 256 << 20  # of the course's own repository; bytes of the tar file
RUNS = "SELECT run, started, who FROM runs ORDER BY run DESC"
HANDED_IN = "SELECT kata, source FROM handed_in WHERE run = :number AND student = :student"


@dataclass(frozen=True)
class RegradeOptions:
    """The options of `kata regrade`."""

    student: str
    name: str
    day: str | None
    output: Path
    store: str | None
    device: str
    key: Path | None
    secret: Path | None


def run(course: Course, options: RegradeOptions) -> int:
    """Print the report on the kept source and return the exit code of `grade`. Raises CourseError."""
    info, until = course.kata_info(options.name), _end_of(options.day)
    with closing(existing_store(options.store, options.output)) as store:
        student = store.id_of(options.student)
        moment, sources = _sources(store, student, info.name, until)
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder, _as_of(course, until) as then:
        for needed in then.with_needs([info]):
            if needed.name in sources:
                Path(folder, f"{needed.name}.py").write_bytes(sources[needed.name])
        seed = seed_of(course, moment)  # without one, that run had the public cases
        terms = GradeOptions(device=options.device, key=options.key, secret=options.secret, seed=seed)
        code = grade_submission(then, [then.kata_info(info.name)], terms._replace(submission=Path(folder)))
    click.echo(f'To let other points count: kata override {one_line(student)} {info.name} POINTS --why "…"')
    return code


def _end_of(day: str | None) -> datetime | None:
    """Return the end of a day here. Raises CourseError if it is no date."""
    if day is None:
        return None
    try:
        return datetime.combine(date.fromisoformat(day), time.max).astimezone()
    except ValueError:
        raise CourseError(f"--as-of {day}: say a date, such as 2026-11-20.") from None


def _sources(
    store: Store, student: str, kata: str, until: datetime | None
) -> tuple[datetime, dict[str, bytes]]:
    """Return when the last run until then was, and what it graded of a student, by kata; print which run that
    was. Raises CourseError if there was none, or if it had no such kata."""
    runs = [(number, datetime.fromisoformat(started), who) for number, started, who in store.rows(RUNS)]
    number, started, who = next(
        (one for one in runs if until is None or one[1] <= until), (0, datetime.min, "")
    )
    if not number:
        first = f"; the first was on {runs[-1][1].astimezone():{SHOWN}}" if runs else ""
        raise CourseError(f"No run of that day or before is kept in {store.label}{first}.")
    found = dict(store.rows(HANDED_IN, number=number, student=student))
    kept = {name: data for name, digest in found.items() if (data := store.source(digest)) is not None}
    when = f"{started.astimezone():{SHOWN}}"
    if kata not in kept:
        raise CourseError(f"In the run of {when} {one_line(student)} has no {kata} that was kept.")
    click.echo(f"{one_line(student)}'s {kata} as graded on {when} by {one_line(who)}:\n")
    return started, kept


@contextmanager
def _as_of(course: Course, until: datetime | None) -> Iterator[Course]:
    """Yield the course as its Git repository had it then; as it is now if there is no repository."""
    if until is None:
        yield course
        return
    try:
        packed = _packed(course, until)
    except (OSError, NoAnswer):
        packed = b""
    if not packed:
        click.echo(
            "The course of that day is not known to Git; judged by the course as it is now.\n", err=True
        )
        yield course
        return
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        yield Course(Path(folder))


def _packed(course: Course, until: datetime) -> bytes:
    """Return the course as its last commit until a moment has it, as a tar file. Raises OSError and
    NoAnswer."""
    root = Path(os.path.abspath(course.root))
    repository = Repository.around(root / "exercises", Allowance(GIT_SECONDS, LARGEST_COURSE))
    head, place = repository.head(), root.relative_to(repository.root).as_posix()
    words = ("rev-list", "--max-count=1", f"--before={until.isoformat()}", head, "--", f":(literal){place}")
    commit = repository.ask(head, *words).decode().strip()
    tree = commit if place == "." else f"{commit}:{place}"
    return repository.ask(head, "archive", "--format=tar", tree) if commit else b""
