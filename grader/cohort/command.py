"""The command `kata grade`: a class, from what was handed in to gradebooks."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from grader.catalog import Card, Course, find_course
from grader.commanding import OUR_FAULT, Guarded, Names
from grader.opening import require_library


@click.command(cls=Guarded)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--kata", "names", multiple=True, type=Names(), help="Grade this kata; can be given again.")
@click.option("--roster", type=click.Path(path_type=Path), help="A CSV with columns id and name.")
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("grades"), show_default=True
)
@click.option("--store", help="Where results are kept: a file, or an SQLAlchemy URL.  [default: in --output]")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--address", default="", help="With --engine ray: the cluster's address.")
@click.option("--graders", type=click.IntRange(min=1), help="How many at a time.  [default: one a core]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--isolation", type=click.Choice(["required", "best", "none"]), default="best", show_default=True
)
@click.option("--key", type=click.Path(path_type=Path), help="Grade with an answer key.")
@click.option("--secret", type=click.Path(path_type=Path), help="The file that opens a sealed key.")
@click.option("--gradebook", help="Write the scores into nbgrader's database at this URL too.")
@click.option("--each", is_flag=True, help="Print every result as it comes.")
def grade(submissions: Path, names: tuple[str, ...], **options: Any) -> None:
    """Grade a class: a folder with a folder a student, or a learning platform's zip.

    Ended at any moment and started again it goes on where it was.
    """
    course = Course(find_course(Path.cwd()))
    cards = [course.card(name) for name in dict.fromkeys(names)] or list(course.cards.values())
    require_library(cards if names else [], options["device"])
    sys.exit(OUR_FAULT if _grade(course, cards, submissions, **options) else 0)


def _grade(course: Course, cards: list[Card], submissions: Path, **options: Any) -> int:
    """How many files could not be judged through a fault of the grader."""
    from grader.cohort import outputs
    from grader.cohort.class_summary import render
    from grader.cohort.engine import open_engine
    from grader.cohort.judging import Order
    from grader.cohort.reports import begun_katas
    from grader.cohort.roster import read_roster
    from grader.cohort.shelf import Shelf
    from grader.cohort.store import open_store

    shelf = Shelf(submissions)
    roster = read_roster(options["roster"]) if options["roster"] else None
    for_order = {name: options[name] for name in ("device", "isolation", "key", "secret")}
    order = Order(course.root, course.exercises, tuple(card.name for card in cards), **for_order)
    with closing(open_store(options["store"], options["output"])) as store:
        with closing(
            open_engine(options["engine"], order, options["graders"] or 0, options["address"])
        ) as engine:
            tally = _run(cards, shelf, roster, engine, store, options["each"])
        begun = begun_katas(store, cards)
        insight = outputs.write_outputs(options["output"], store, begun, options["device"])
        if options["gradebook"]:
            outputs.write_gradebook(options["gradebook"], store, begun, options["device"])
        click.echo(render(insight, tally, options["output"]), nl=False)
    return tally.faults


def _run(cards: list[Card], shelf: Any, roster: Any, engine: Any, store: Any, each: bool) -> Any:
    """The run itself, with its progress on standard error where that is a terminal."""
    from grader.cohort.class_run import ClassRun

    run = ClassRun({card.name: card for card in cards}, shelf, roster, engine, store)
    quiet = each or not sys.stderr.isatty()
    with click.progressbar(length=len(shelf), label="Grading", file=sys.stderr, hidden=quiet) as bar:

        def judged(student: str, task: Any, verdict: Any) -> None:
            if each:
                told = f"{verdict.score / 100:g} / {verdict.max_score / 100:g}"
                click.echo(f"{student}  {task.kata}  {verdict.status}  {told}")

        return run.grade(lambda: bar.update(1), judged)
