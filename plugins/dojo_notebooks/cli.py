"""The commands that write notebooks and show what students read; each imports its modules when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cases.generation import SEED
from grader.cli.kata import folder_argument, names_argument, own_course
from grader.cli.options import GuardedCommand, KataNames, course_option
from grader.course.catalog import shorten
from grader.texts.phrases import counted


@click.command(cls=GuardedCommand)
@folder_argument
@names_argument
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the students' cases from this.")
@click.option(
    "--hidden-seed", type=int, help="Draw the cases for autograding from this.  [default: the secret seed]"
)
@course_option
def notebooks(
    folder: Path, names: tuple[str, ...], seed: int, hidden_seed: int | None, course: Path | None
) -> None:
    """Write an nbgrader course: a notebook for each kata, an assignment for each track, answer keys."""
    from dojo_authoring.release import keys
    from dojo_authoring.release.writing import write_release
    from dojo_notebooks.nbgrader_course import course_files
    from dojo_notebooks.packages import require

    require("`kata notebooks`", "nbformat")
    here = own_course(course)
    infos = keys.chosen_katas(here, names)
    outcome = write_release(folder, course_files(here, infos, seed, hidden_seed))
    written = sum(name.endswith(".ipynb") for name in outcome.written)
    made = f"{counted(len(infos), 'kata')}, {counted(written, 'notebook')}"
    click.echo(f"{made} are in {shorten(folder / 'source')}.")
    for note in outcome.notes("course"):
        click.echo(note)
    click.echo(f"Next, in {shorten(folder)}: nbgrader generate_assignment {infos[0].track}")


@click.command(cls=GuardedCommand)
@click.argument("name", type=KataNames())
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("preview"),
    show_default=True,
    help="Where page, notebook and statement are written.",
)
@course_option
def preview(name: str, output: Path, course: Path | None) -> None:
    """Show a kata as a student sees it, and what is told about three of its mistakes."""
    from dojo_notebooks.preview import preview as show

    here = own_course(course)
    show(here, here.kata_info(name), output)
