"""The commands that show what the functions of a course give; each imports its modules when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.cli.commands import of_course, of_workers
from grader.cli.kata import own_course
from grader.cli.options import GradeOptions, GuardedCommand, ascii_option, course_option, opened

mine_option = click.option("--mine", is_flag=True, help="Use functions that do not pass as well.")


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, metavar="[SECTION]")
@of_course
@click.option("--text", is_flag=True, help="Show it in the terminal.")
@click.option("--tokens", metavar="TEXT", help="Run on these words.")
@mine_option
@click.option("--output", "--out", "output", help="Write the page to this file.")
@of_workers
@ascii_option
def see(names: tuple[str, ...], *, text: bool, tokens: str | None, mine: bool, **options: Any) -> None:
    """Show your functions at work, on a page or as text."""
    from dojo_show.command import show_sections

    terms = GradeOptions(names, **options)
    sys.exit(show_sections(opened(terms), terms, as_text=text, tokens=tokens, mine=mine))


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, metavar="[WORD]")
@of_course
@click.option("--without", multiple=True, metavar="PART", help="Leave a part out, to see what it does.")
@click.option("--with", "with_", multiple=True, metavar="NAME[=VALUE]", help="Write in this way.")
@click.option("--inside", is_flag=True, help="Show what each token was chosen from.")
@mine_option
@of_workers
@ascii_option
def speak(
    names: tuple[str, ...],
    without: tuple[str, ...],
    with_: tuple[str, ...],
    *,
    inside: bool,
    mine: bool,
    **options: Any,
) -> None:
    """Let your functions write a text, after these words."""
    from dojo_show.command import write_text

    terms = GradeOptions(names, **options)
    sys.exit(write_text(opened(terms), terms, without, with_, inside=inside, mine=mine))


@click.command("record-see", cls=GuardedCommand)
@course_option
def record_see(course: Path | None) -> None:
    """Record what the references give, for `grade see` where a student's katas do not pass yet."""
    from dojo_show.demonstration import open_demonstration, write_recording

    here = own_course(course)
    click.echo(write_recording(here, open_demonstration(here)))
