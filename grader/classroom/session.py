"""One run of `kata grade`, step by step."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from grader.classroom import files
from grader.classroom.collector import Collector
from grader.classroom.engine import Engine, open_engine
from grader.classroom.roster import Roster, read_roster
from grader.classroom.run import ClassRun, RunCounts
from grader.classroom.store import Store, open_store
from grader.classroom.student_reports import begun_katas
from grader.classroom.summary import render
from grader.classroom.task import GraderOptions, Task, Verdict
from grader.course.catalog import Course, KataInfo
from grader.formats.escaping import one_line, points


@dataclass(frozen=True)
class ClassOptions:
    """The command line of `kata grade`."""

    submissions: Path
    output: Path = Path("grades")
    roster: Path | None = None
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

    def order(self, course: Course, infos: list[KataInfo]) -> GraderOptions:
        """What the graders are told."""
        katas = tuple(info.name for info in infos)
        terms = (self.device, self.isolation, self.key, self.secret)
        return GraderOptions(course.root.absolute(), course.exercises.absolute(), katas, *terms)


def grade_class(course: Course, infos: list[KataInfo], options: ClassOptions) -> int:
    """Grade everything, write everything; how many files could not be judged through our own fault."""
    shelf = Collector(options.submissions)
    roster = read_roster(options.roster) if options.roster else None
    with closing(open_store(options.store, options.output)) as store:
        order = options.order(course, infos)
        with closing(open_engine(options.engine, order, options.graders or 0, options.address)) as engine:
            tally = _run(infos, shelf, roster, engine, store, options.each)
        begun = begun_katas(store, infos)
        insight = files.write_outputs(options.output, store, begun, options.device)
        if options.gradebook:
            files.write_gradebook(options.gradebook, store, begun, options.device)
        click.echo(render(insight, tally, options.output), nl=False)
    return tally.faults


def _run(
    infos: list[KataInfo], shelf: Collector, roster: Roster | None, engine: Engine, store: Store, each: bool
) -> RunCounts:
    """The run itself, with its progress on standard error where that is a terminal."""
    run = ClassRun({info.name: info for info in infos}, shelf, roster, engine, store)
    quiet = each or not sys.stderr.isatty()
    with click.progressbar(length=len(shelf), label="Grading", file=sys.stderr, hidden=quiet) as bar:
        return run.grade(lambda: bar.update(1), _print_result if each else _say_nothing)


def _print_result(student: str, task: Task, verdict: Verdict) -> None:
    told = f"{verdict.status}  {points(verdict.score)} / {points(verdict.max_score)}"
    click.echo(f"{one_line(student, 100)}  {task.kata}  {told}")


def _say_nothing(student: str, task: Task, verdict: Verdict) -> None:
    """Results wait for the summary."""
