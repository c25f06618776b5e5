"""The command `kata grade`: collect, grade, store, write the results, print the summary."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import click

from grader.classroom import files
from grader.classroom.collector import Collector
from grader.classroom.grader_pool import GraderPool, open_pool
from grader.classroom.group_search import group_search, write_drafts
from grader.classroom.identity import Person, read_logins
from grader.classroom.roster import Roster, read_roster
from grader.classroom.run import ClassRun, RunCounts
from grader.classroom.store import Store, open_store
from grader.classroom.student_reports import begun_katas
from grader.classroom.summary import render
from grader.classroom.task import GraderOptions, Task, Verdict
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.renamed import renamed
from grader.formats.escaping import one_line, points
from grader.values.formatting import counted


@dataclass(frozen=True)
class ClassOptions:
    """The options of `kata grade`."""

    submissions: Path
    output: Path = Path("grades")
    roster: Path | None = None
    logins: Path | None = None
    store: str | None = None
    engine: str = "local"
    address: str = ""
    graders: int | None = None
    device: str = "cpu"
    isolation: str = "best"
    key: Path | None = None
    secret: Path | None = None
    gradebook: str | None = None
    each: bool = False
    absent: str = "zero"
    search: bool = False
    draft_mistakes: Path | None = None

    def grader_options(self, course: Course, infos: list[KataInfo]) -> GraderOptions:
        """Return the options of the grading processes."""
        katas = tuple(info.name for info in infos)
        terms = (self.device, self.isolation, self.key, self.secret)
        return GraderOptions(course.root.absolute(), course.exercises.absolute(), katas, *terms)


def grade_class(course: Course, infos: list[KataInfo], options: ClassOptions) -> int:
    """Grade the class and write all results; return how many files were not judged."""
    collector = Collector(options.submissions)
    roster = read_roster(options.roster) if options.roster else None
    if options.logins and roster is None:
        raise CourseError("`--logins` says whose logins are in the roster: give --roster too.")
    logins = read_logins(options.logins) if options.logins else {}
    with closing(open_store(options.store, options.output)) as store:
        for_graders = options.grader_options(course, infos)
        with closing(open_pool(options.engine, for_graders, options.graders or 0, options.address)) as pool:
            run = _class_run(course, infos, collector, roster, pool, store, logins)
            counts = _grade(run, options.each)
        begun = begun_katas(store, infos)
        absent = "0" if options.absent == "zero" else ""
        where = (options.output, store, begun, options.device)
        title = course.syllabus.title
        with ExitStack() as searching:
            wanted = options.search or options.draft_mistakes
            search = searching.enter_context(group_search(for_graders, run.source_of)) if wanted else None
            statistics = files.write_outputs(
                *where, counts, roster, absent, title, run.source_of, run.stubs, search
            )
        if options.draft_mistakes:
            entry_points = {info.name: info.entry_points for info in infos}
            drafts = write_drafts(options.draft_mistakes, statistics.unexplained, entry_points)
            click.echo(f"{counted(drafts, 'draft')} of mistakes written to {options.draft_mistakes}.")
        if options.gradebook:
            files.write_gradebook(options.gradebook, store, begun, options.device, counts)
        click.echo(render(statistics, counts, options.output), nl=False)
    return statistics.unjudged


def _class_run(
    course: Course,
    infos: list[KataInfo],
    collector: Collector,
    roster: Roster | None,
    pool: GraderPool,
    store: Store,
    logins: Mapping[str, Person],
) -> ClassRun:
    stubs = {info.name: path.read_bytes() for info in infos if (path := course.stub(info)).is_file()}
    katas = {info.name: info for info in infos}
    return ClassRun(katas, collector, roster, pool, store, course.katas, stubs, logins, renamed(course))


def _grade(run: ClassRun, each: bool) -> RunCounts:
    """Grade the files, with a progress bar on standard error if it is a terminal."""
    run.require_one_student_each()
    quiet = each or not sys.stderr.isatty()
    length = len(run.collector)
    with click.progressbar(length=length, label="Grading", file=sys.stderr, hidden=quiet) as bar:
        return run.grade(lambda: bar.update(1), _print_result if each else _print_nothing)


def _print_result(student: str, task: Task, verdict: Verdict) -> None:
    told = f"{verdict.status}  {points(verdict.score)} / {points(verdict.max_score)}"
    click.echo(f"{one_line(student, 100)}  {task.kata}  {told}")


def _print_nothing(student: str, task: Task, verdict: Verdict) -> None:
    """Print no single results; the summary follows."""
