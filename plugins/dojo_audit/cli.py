"""The commands about homework of others; each imports its modules when it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from grader.cli.options import GuardedCommand, course_option

#: What a foreign homework is, for `kata audit` and `kata import`.
HOMEWORK = (
    click.argument("homework", type=click.Path(path_type=Path)),
    click.option(
        "--solution",
        multiple=True,
        type=click.Path(path_type=Path),
        help="The right answer, a file or a folder; can be given again.  [default: found beside the tests]",
    ),
    click.option(
        "--tests", default="", help="The command that runs the tests.  [default: found by their names]"
    ),
    click.option(
        "--replaces",
        type=click.Path(path_type=Path),
        help="The file in whose place the solution is put.  [default: the stub that the tests import]",
    ),
    click.option(
        "--mutants", type=click.IntRange(min=0), default=300, show_default=True, help="Try so many."
    ),
    click.option(
        "--seconds", type=float, default=600.0, show_default=True, help="Begin no run after this time."
    ),
    click.option(
        "--isolation", type=click.Choice(["required", "best", "none"]), default="best", show_default=True
    ),
    click.option(
        "--graders",
        "at_once",
        type=click.IntRange(min=1),
        default=None,
        help="How many at a time.  [default: one a core]",
    ),
    click.option(
        "--fresh", is_flag=True, help="Try everything again, also what is known from an earlier run."
    ),
)


def homework_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what a foreign homework is."""
    for option in reversed(HOMEWORK):
        command = option(command)
    return command


@click.command("import", cls=GuardedCommand)
@click.argument("place", metavar="TRACK/NAME")
@homework_options
@click.option("--function", help="What the kata is about, where the tests call several functions.")
@click.option("--title", help="What it is about, in a few words.")
@click.option("--source", help="The paper and the section.")
@click.option("--reference", type=click.Path(path_type=Path), hidden=True)  # the word of 1.0 for --solution
@click.option("--new-track", is_flag=True, help="Begin a track of this name.")
@course_option
def import_(
    place: str,
    homework: Path,
    *,
    new_track: bool,
    course: Path | None,
    at_once: int | None,
    solution: tuple[Path, ...],
    reference: Path | None,
    function: str | None,
    title: str | None,
    source: str | None,
    **options: Any,
) -> None:
    """Audit a homework, and draft a kata of one of its functions.

    The calls that the tests make become its cases, and the wrong versions that they miss drafts of its
    mistakes. Exits with 4, and writes nothing, if the kata could not be graded.
    """
    from dojo_audit.audit import Options
    from dojo_audit.command import import_homework
    from dojo_audit.drafting import KataOfHomework
    from dojo_authoring.scaffold import writer

    root = writer.course_folder(course)
    track, name = writer.new_kata_name(root, place, new_track=new_track)
    right = (*solution, reference) if reference else solution
    given = Options(solution=right, at_once=at_once or 0, **options)
    import_homework(root, homework, given, KataOfHomework(track, name, function, title, source))
    where = f" --course {course}" if course else ""
    click.echo(
        f"It is a draft: its checks are unproven until it has mistakes. See: kata verify {name}{where}"
    )


@click.command(cls=GuardedCommand)
@homework_options
@click.option(
    "--submissions",
    type=click.Path(path_type=Path),
    help="Also run these and compare them: a folder, or a platform's zip.",
)
@click.option("--names", is_flag=True, help="With --submissions: print their paths.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json", "junit", "html", "badge"]),
    default="terminal",
    show_default=True,
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file."
)
@click.option("--at-least", type=float, help="Exit with 1 if fewer percent are caught.")
@click.option(
    "--write-tests",
    "tests_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write tests for what is missed; each has been tried.",
)
@click.option(
    "--write-mistakes",
    "mistakes_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what is missed as drafts of the mistakes of an imported kata.",
)
def audit(homework: Path, at_once: int | None, **options: Any) -> None:
    """Measure what the tests of any homework catch: a folder with a solution and tests, or a notebook.

    Wrong versions of the solution are run through the tests, each in a copy, in the sandbox. What no test
    catches is shown with an input on which it differs from the solution. If a run is interrupted, the same
    command continues it.
    """
    from dojo_audit.audit import Options
    from dojo_audit.command import audit_homework

    sys.exit(audit_homework(homework, Options(at_once=at_once or 0, **options)))
