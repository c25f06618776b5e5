"""The commands about answers that have passed; each imports its modules when it runs."""

from __future__ import annotations

import sys
from typing import Any

import click

from grader.cli.commands import of_katas, of_workers
from grader.cli.options import GradeOptions, GuardedCommand, KataNames, opened


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, type=KataNames(), metavar="[KATA]")
@of_katas
@click.option("--list", "lists", is_flag=True, help="Show what is due, and when.")
@click.option("--which", is_flag=True, help="Tell the broken one of two versions, by a call.")
@of_workers
def review(names: tuple[str, ...], *, lists: bool, which: bool, **options: Any) -> None:
    """Find and mend a fault in an answer of yours that has passed.

    Katas come again 1, 3, 7 and 21 days after they pass. Your files stay as they are.
    """
    from dojo_review import command

    terms = GradeOptions(names, **options)
    course = opened(terms)
    sys.exit(command.show_calendar(course) if lists else command.review(course, terms, asks_which=which))


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, type=KataNames(), metavar="KATA")
@of_katas
@of_workers
def laws(names: tuple[str, ...], **options: Any) -> None:
    """Write laws for a kata that has passed, and see which faults they catch."""
    from dojo_review.law_command import run_laws

    terms = GradeOptions(names, **options)
    sys.exit(run_laws(opened(terms), terms))
