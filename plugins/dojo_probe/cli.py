"""The command `grade probe`; it imports its modules when it runs."""

from __future__ import annotations

import sys
from typing import Any

import click

from grader.cli.commands import of_katas, of_workers
from grader.cli.options import GradeOptions, GuardedCommand, KataNames, opened


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, type=KataNames(), metavar="[KATA]")
@of_katas
@click.option("--shown", is_flag=True, help="Show the wrong function.")
@of_workers
def probe(names: tuple[str, ...], *, shown: bool, **options: Any) -> None:
    """Find an input that tells a right function from a wrong one.

    The right one is an answer of yours that has passed. Without a name, the katas are listed.
    """
    from dojo_probe import command

    terms = GradeOptions(names, **options)
    course = opened(terms)
    sys.exit(command.probe(course, terms, shows_wrong=shown) if names else command.list_katas(course, terms))
