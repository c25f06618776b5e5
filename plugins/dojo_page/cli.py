"""The commands of the page and of a site; each imports its modules when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.cli.commands import of_katas, of_workers
from grader.cli.kata import folder_argument, names_argument, own_course
from grader.cli.options import (
    GradeOptions,
    GuardedCommand,
    course_option,
    no_search_option,
    opened,
    search_option,
)


@click.command(cls=GuardedCommand)
@of_katas
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Use this port.  [default: a free one]"
)
@of_workers
@search_option
@no_search_option
def page(port: int, **options: Any) -> None:
    """Open the course in the browser: write there, graded as you type."""
    from dojo_page.command import run_page

    terms = GradeOptions(**options)
    sys.exit(run_page(opened(terms), terms, port))


@click.command(cls=GuardedCommand)
@folder_argument
@names_argument
@click.option(
    "--runtime",
    type=click.Path(path_type=Path),
    help="Copy Pyodide and NumPy for it from this folder.  [default: fetch them from Pyodide's distribution]",
)
@click.option(
    "--keys",
    type=click.Path(path_type=Path),
    help="Take the answer keys that `kata key` wrote to this folder.",
)
@click.option("--seed", type=int, help="Draw the keys' cases from this seed.  [default: that of `kata key`]")
@click.option(
    "--unverified", is_flag=True, help="Take katas that `kata verify` did not find ready as they are."
)
@course_option
def site(folder: Path, names: tuple[str, ...], course: Path | None, seed: int | None, **options: Any) -> None:
    """Write a site that judges the katas in NumPy in the browser of whoever opens it."""
    from dojo_page.site import SiteOptions, write_site
    from grader.cases.generation import SEED

    given = SiteOptions(names, seed=SEED if seed is None else seed, **options)
    click.echo(write_site(own_course(course), folder, given))
