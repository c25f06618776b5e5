"""The command that opens the course in the browser; each imports its modules when it runs."""

from __future__ import annotations

import sys
from typing import Any

import click

from grader.cli.commands import of_katas, of_workers
from grader.cli.options import GradeOptions, GuardedCommand, no_search_option, opened, search_option


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
