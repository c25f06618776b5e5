"""The command `kata notebooks`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.bank import SEED
from grader.catalog import open_course, shorten
from grader.commanding import Guarded, Names, course_option
from grader.describing import counted


@click.command(cls=Guarded)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1, type=Names())
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the students' cases from this.")
@click.option("--hidden-seed", type=int, help="Draw other cases from this, for autograding alone.")
@course_option
def notebooks(
    folder: Path, names: tuple[str, ...], seed: int, hidden_seed: int | None, course: Path | None
) -> None:
    """Write a course for nbgrader: a notebook a kata, an assignment a track, graded by answer keys."""
    from grader.authoring.releasing import keys
    from grader.authoring.releasing.release import write_release
    from grader.notebooks.course import course_files
    from grader.notebooks.extra import require

    require("`kata notebooks`", "nbformat")
    here = open_course(course)
    cards = keys.chosen(here, names)
    outcome = write_release(folder, course_files(here, cards, seed, hidden_seed))
    written = sum(name.endswith(".ipynb") for name in outcome.written)
    made = f"{counted(len(cards), 'kata')}, {counted(written, 'notebook')}"
    click.echo(f"{made} are in {shorten(folder / 'source')}.")
    for name in outcome.kept:
        click.echo(f"kept, since it was changed: {name}")
    for name in outcome.removed:
        click.echo(f"removed, since it is no longer part of the course: {name}")
    click.echo(f"Next, in {shorten(folder)}: nbgrader generate_assignment {cards[0].track}")
