"""The commands of `grade` that no verdict needs; each imports its modules when it runs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from grader.cli.commands import of_course, of_katas, of_workers
from grader.cli.options import (
    GradeOptions,
    GuardedCommand,
    KataNames,
    ascii_option,
    no_search_option,
    opened,
    search_option,
)

mine_option = click.option("--mine", is_flag=True, help="Use functions that do not pass as well.")


@click.command(cls=GuardedCommand)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--library", type=click.Choice(["numpy", "torch"]), help="Write NumPy katas as stubs in this library."
)
@click.option("--no-agents", is_flag=True, help="Write no AGENTS.md, which tells AI assistants how to help.")
def start(folder: Path, library: str | None, no_agents: bool) -> None:
    """Write the course that came with the grader to a folder."""
    from grader.extra.authoring.release.starter import write_course
    from grader.values.formatting import counted

    outcome = write_course(folder, library or "", not no_agents)
    katas = counted(sum(name.startswith("exercises/") for name in outcome.written), "kata")
    is_here = folder.resolve() == Path.cwd()
    where, there = ("here", "") if is_here else (f"to {folder}", f"cd {shlex.quote(str(folder))} && ")
    click.echo(f"{katas} written {where}. Begin:  {there}grade")
    for note in outcome.notes("course"):
        click.echo(note)


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
    from grader.extra.page.command import run_page

    terms = GradeOptions(**options)
    sys.exit(run_page(opened(terms), terms, port))


@click.command(cls=GuardedCommand, hidden=True)  # a program starts it
@of_katas
@of_workers
@search_option
@no_search_option
def mcp(**options: Any) -> None:
    """Let an assistant be a tutor: serve MCP on standard input and output."""
    from grader.extra.tutor.command import run_tutor

    terms = GradeOptions(**options)
    sys.exit(run_tutor(opened(terms), terms))


@click.command(cls=GuardedCommand, hidden=True)  # a program starts it
@of_katas
@of_workers
@search_option
@no_search_option
def lsp(**options: Any) -> None:
    """Judge exercises in your editor: it starts this as a language server."""
    from grader.extra.lsp.command import run_server

    sys.exit(run_server(GradeOptions(**options)))


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, metavar="[SECTION]")
@of_course
@click.option("--text", is_flag=True, help="Show it in the terminal.")
@click.option("--tokens", metavar="TEXT", help="Run on these words.")
@mine_option
@click.option("--output", "--out", "output", help="Write the page to this file.")
@of_workers
@ascii_option
def see(names: tuple[str, ...], text: bool, tokens: str | None, mine: bool, **options: Any) -> None:
    """Show your functions at work, on a page or as text."""
    from grader.extra.show.command import show_sections

    terms = GradeOptions(names, **options)
    sys.exit(show_sections(opened(terms), terms, text, tokens, mine))


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
    inside: bool,
    mine: bool,
    **options: Any,
) -> None:
    """Let your functions write a text, after these words."""
    from grader.extra.show.command import write_text

    terms = GradeOptions(names, **options)
    sys.exit(write_text(opened(terms), terms, without, with_, inside, mine))


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, type=KataNames(), metavar="[KATA]")
@of_katas
@click.option("--list", "lists", is_flag=True, help="Show what is due, and when.")
@click.option("--which", is_flag=True, help="Tell the broken one of two versions, by a call.")
@of_workers
def review(names: tuple[str, ...], lists: bool, which: bool, **options: Any) -> None:
    """Find and mend a fault in an answer of yours that has passed.

    Katas come again 1, 3, 7 and 21 days after they pass. Your files stay as they are.
    """
    from grader.extra.review import command

    terms = GradeOptions(names, **options)
    course = opened(terms)
    sys.exit(command.show_calendar(course) if lists else command.review(course, terms, which))


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, type=KataNames(), metavar="KATA")
@of_katas
@of_workers
def laws(names: tuple[str, ...], **options: Any) -> None:
    """Write laws for a kata that has passed, and see which faults they catch."""
    from grader.extra.review.law_command import run_laws

    terms = GradeOptions(names, **options)
    sys.exit(run_laws(opened(terms), terms))
