"""One run of `kata grade`, step by step."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from grader.catalog import Card, Course
from grader.cohort import outputs
from grader.cohort.class_run import ClassRun, Tally
from grader.cohort.class_summary import render
from grader.cohort.engine import Engine, open_engine
from grader.cohort.judging import Order, Task, Verdict
from grader.cohort.reports import begun_katas
from grader.cohort.roster import Roster, read_roster
from grader.cohort.shelf import Shelf
from grader.cohort.store import Store, open_store
from grader.formats.escaping import one_line, points


@dataclass(frozen=True)
class ClassWishes:
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

    def order(self, course: Course, cards: list[Card]) -> Order:
        """What the graders are told."""
        katas = tuple(card.name for card in cards)
        terms = (self.device, self.isolation, self.key, self.secret)
        return Order(course.root.absolute(), course.exercises.absolute(), katas, *terms)


def grade_class(course: Course, cards: list[Card], wishes: ClassWishes) -> int:
    """Grade everything, write everything; how many files could not be judged through our own fault."""
    shelf = Shelf(wishes.submissions)
    roster = read_roster(wishes.roster) if wishes.roster else None
    with closing(open_store(wishes.store, wishes.output)) as store:
        order = wishes.order(course, cards)
        with closing(open_engine(wishes.engine, order, wishes.graders or 0, wishes.address)) as engine:
            tally = _run(cards, shelf, roster, engine, store, wishes.each)
        begun = begun_katas(store, cards)
        insight = outputs.write_outputs(wishes.output, store, begun, wishes.device)
        if wishes.gradebook:
            outputs.write_gradebook(wishes.gradebook, store, begun, wishes.device)
        click.echo(render(insight, tally, wishes.output), nl=False)
    return tally.faults


def _run(
    cards: list[Card], shelf: Shelf, roster: Roster | None, engine: Engine, store: Store, each: bool
) -> Tally:
    """The run itself, with its progress on standard error where that is a terminal."""
    run = ClassRun({card.name: card for card in cards}, shelf, roster, engine, store)
    quiet = each or not sys.stderr.isatty()
    with click.progressbar(length=len(shelf), label="Grading", file=sys.stderr, hidden=quiet) as bar:
        return run.grade(lambda: bar.update(1), _print_result if each else _say_nothing)


def _print_result(student: str, task: Task, verdict: Verdict) -> None:
    told = f"{verdict.status}  {points(verdict.score)} / {points(verdict.max_score)}"
    click.echo(f"{one_line(student, 100)}  {task.kata}  {told}")


def _say_nothing(student: str, task: Task, verdict: Verdict) -> None:
    """Results wait for the summary."""
