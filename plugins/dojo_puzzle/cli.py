"""The command `grade puzzle`; it imports its modules when it runs."""

from __future__ import annotations

import sys
from typing import Any

import click

from grader.cli.commands import of_katas, of_workers
from grader.cli.options import GradeOptions, GuardedCommand, KataNames, opened


@click.command(cls=GuardedCommand, hidden=True)  # the last hint offers it
@click.argument("names", nargs=-1, type=KataNames(), metavar="KATA")
@of_katas
@of_workers
def puzzle(names: tuple[str, ...], **options: Any) -> None:
    """Put the lines of a kata in order, if its hints were not enough.

    It comes after all hints and a try of your own. Your file stays as it is.
    """
    from dojo_puzzle import command

    terms = GradeOptions(names, **options)
    sys.exit(command.run_puzzle(opened(terms), terms))
