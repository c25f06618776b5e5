"""The commands of `grade` besides grading; each imports its modules when it runs."""

from __future__ import annotations

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
    hours_option,
    isolation_option,
    key_option,
    opened,
    plan_option,
    secret_option,
)
from grader.course.catalog import Course, KataInfo
from grader.errors import CourseError
from grader.texts.escaping import one_line
from grader.texts.wrapping import paragraphs

Function = Callable[..., None]

kata_argument = click.argument("names", nargs=-1, type=KataNames(), metavar="KATA")


def _with(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Return a decorator that adds these options to a command."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


of_course = _with(course_option, exercises_option)
of_katas = _with(of_course, plan_option, hours_option)
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
@click.option("--all", "all_katas", is_flag=True, help="List every kata by name, however many there are.")
@of_katas
def list_(*, all_katas: bool, **options: Any) -> None:
    """List the katas and how far you are."""
    from grader.cli.kata_list import kata_list, overview

    course = opened(GradeOptions(**options))
    click.echo((kata_list if all_katas else overview)(course, width=columns()), nl=False)


@click.command("next", cls=GuardedCommand)
@of_katas
def next_(**options: Any) -> None:
    """Say which kata is next, and why."""
    from grader.grading.standings import next_line, standings

    course = opened(GradeOptions(**options))
    if not course.katas:
        raise CourseError(NO_KATAS)
    click.echo(paragraphs(next_line(course, standings(course)), columns()))


@click.command(cls=GuardedCommand)
@click.argument("name", required=False, metavar="[NAME]")
@of_course
@hours_option
def plan(name: str | None, hours: float | None, **options: Any) -> None:
    """List the plans of the course, or the katas of one.

    With --hours it chooses what fits, the most important first.
    """
    from grader.cli import plan_text

    course = opened(GradeOptions(**options))
    if name is None and hours is not None:
        raise CourseError(f"`--hours` goes with a plan: {plan_text.example(course)}.")
    if name is None:
        click.echo(f"{plan_text.all_plans(course, columns())}\n{plan_text.how_to_choose(course)}", nl=False)
    else:
        click.echo(plan_text.one_plan(course, name, hours, columns()))
        click.echo(f"Begin:  grade {' '.join(plan_text.options_of(name, hours))}")


@click.command(cls=GuardedCommand)
@kata_argument
@of_katas
def hint(names: tuple[str, ...], **options: Any) -> None:
    """Show the next hint for a kata."""
    from grader.course.hints import next_hint

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
    from grader.cli.output import append_to_summary
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
