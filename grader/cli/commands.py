"""The commands of `grade` besides grading; each imports its modules when it runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from grader.cli.options import (
    ALL_OPTIONS,
    FAILED,
    NO_KATAS,
    GradeOptions,
    GuardedCommand,
    KataNames,
    ascii_option,
    columns,
    course_option,
    device_option,
    exercises_option,
    isolation_option,
    key_option,
    no_search_option,
    opened,
    plan_option,
    search_option,
    secret_option,
)
from grader.course.catalog import Course, KataInfo
from grader.errors import CourseError
from grader.formats.account import one_line, paragraphs

Function = Callable[..., None]

kata_argument = click.argument("names", nargs=-1, type=KataNames(), metavar="KATA")
mine_option = click.option("--mine", is_flag=True, help="Use functions that do not pass as well.")


def _with(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Return a decorator that adds these options to a command."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


of_course = _with(course_option, exercises_option)
of_katas = _with(of_course, plan_option)
of_workers = _with(device_option, isolation_option, key_option, secret_option)


def _katas(names: tuple[str, ...], options: dict[str, Any]) -> tuple[Course, list[KataInfo]]:
    """Return the course and the katas that words mean. Raises CourseError."""
    course = opened(GradeOptions(**options))
    return course, list(dict.fromkeys(info for name in names for info in course.katas_meant(name)))


def _one(command: str, course: Course, infos: list[KataInfo]) -> KataInfo:
    """Return the one kata of a command. Raises CourseError if there is not exactly one."""
    if len(infos) != 1:
        name = next(iter(course.katas), "NAME")
        raise CourseError(f"`grade {command}` goes with the name of one kata: grade {command} {name}.")
    return infos[0]


@click.command("list", cls=GuardedCommand)
@of_katas
def list_(**options: Any) -> None:
    """List the katas and how far you are."""
    from grader.cli.console import kata_list

    click.echo(kata_list(opened(GradeOptions(**options)), width=columns()), nl=False)


@click.command("next", cls=GuardedCommand)
@of_katas
def next_(**options: Any) -> None:
    """Say which kata is next: the first that does not pass."""
    from grader.grading.standings import next_line, standings

    course = opened(GradeOptions(**options))
    if not course.katas:
        raise CourseError(NO_KATAS)
    click.echo(paragraphs(next_line(course, standings(course)), columns()))


@click.command(cls=GuardedCommand)
@kata_argument
@of_katas
def hint(names: tuple[str, ...], **options: Any) -> None:
    """Show the next hint for a kata."""
    from grader.course.state import next_hint

    course, infos = _katas(names, options)
    click.echo(paragraphs(next_hint(course, _one("hint", course, infos)), columns()))


@click.command(cls=GuardedCommand)
@kata_argument
@of_katas
def solution(names: tuple[str, ...], **options: Any) -> None:
    """Show the reference of a kata that you have passed."""
    from grader.cli.practice import solution_text

    course, infos = _katas(names, options)
    click.echo(solution_text(course, _one("solution", course, infos)))


@click.command(cls=GuardedCommand)
@kata_argument
@of_katas
def again(names: tuple[str, ...], **options: Any) -> None:
    """Bring back the stub of a kata, to solve it again.

    It asks once, and keeps a copy of your file.
    """
    from grader.cli.practice import bring_back

    course, infos = _katas(names, options)
    if not infos:
        name = next(iter(course.katas), "NAME")
        raise CourseError(f"`grade again` goes with the name of a kata: grade again {name}.")
    sys.exit(bring_back(course, infos, are_all=False))


@click.command(cls=GuardedCommand)
@click.argument("names", nargs=-1, type=KataNames(), metavar="[TRACK]")
@of_katas
def reset(names: tuple[str, ...], **options: Any) -> None:
    """Bring back the stubs of a track, or of all katas.

    It asks once, and keeps copies of your files.
    """
    from grader.cli.practice import bring_back

    course, infos = _katas(names, options)
    sys.exit(bring_back(course, infos or list(course.katas.values()), are_all=True))


@click.command(cls=GuardedCommand)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--library", type=click.Choice(["numpy", "torch"]), help="Write NumPy katas as stubs in this library."
)
def start(folder: Path, library: str | None) -> None:
    """Write the course that came with the grader to a folder."""
    from grader.cli.starter import start as write
    from grader.values.formatting import counted

    outcome = write(folder, library or "")
    katas = counted(sum(name.startswith("exercises/") for name in outcome.written), "kata")
    click.echo(f"{katas} written to {folder}. Begin:  cd {shlex.quote(str(folder))} && grade")
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
    from grader.cli.page import run_page

    terms = GradeOptions(**options)
    sys.exit(run_page(opened(terms), terms, port))


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
    from grader.cli.speak import see as show

    terms = GradeOptions(names, **options)
    sys.exit(show(opened(terms), terms, text, tokens, mine))


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
    from grader.cli.speak import speak as write

    terms = GradeOptions(names, **options)
    sys.exit(write(opened(terms), terms, without, with_, inside, mine))


@click.command(cls=GuardedCommand)
@of_course
@isolation_option
@ascii_option
def doctor(**options: Any) -> None:
    """Show what this machine has of all that grading uses."""
    from grader.cli.doctor import report

    terms = GradeOptions(**options)
    click.echo(report(opened(terms), terms), nl=False)


@click.command(cls=GuardedCommand)
@of_course
@click.option("--against", type=click.Path(path_type=Path), help="Compare with this release.")
def protect(against: Path | None, **options: Any) -> None:
    """List what was changed in a release, or added to it."""
    from grader.cli.console import append_to_summary
    from grader.course.release_manifest import differences

    found = differences(opened(GradeOptions(**options)).root, against)
    for line in found:
        click.echo(one_line(line))
    if not found:
        click.echo("Every file that judges is as it came.")
    append_to_summary(found)
    sys.exit(FAILED if found else 0)


@click.command("help", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def help_(ctx: click.Context, /, words: tuple[str, ...]) -> None:
    """Show the help of `grade`, of a command (`grade help list`), or all options (`grade help options`)."""
    group = ctx.parent
    assert group is not None
    assert isinstance(group.command, click.Group)
    command = group.command.get_command(group, words[0]) if words else None
    if command is None:
        group.meta[ALL_OPTIONS] = words[:1] == ("options",)
        click.echo(group.get_help())
    else:
        click.echo(command.get_help(click.Context(command, info_name=command.name, parent=group)))
