"""One run of `grade`: what was asked for is done by the part of the grader that it needs.

Listing the katas and giving a hint need no NumPy, and are done before it would have been imported.
"""

from __future__ import annotations

from pathlib import Path

import click

from grader.catalog import Card, Course, open_course
from grader.cells import is_notebook
from grader.errors import CourseError
from grader.wishes import FAILED, PASSED, Wishes


def run(wishes: Wishes) -> int:
    """Do what was asked for; returns the exit code. Raises CourseError and its like for wrong input."""
    course = open_course(wishes.course, wishes.exercises)
    cards = [course.card(name) for name in wishes.names if not is_notebook(Path(name))]
    if wishes.list_katas:
        return _list(course)
    if wishes.protect:
        return _protect(course)
    if wishes.hint:
        return _give_hint(course, cards)
    from grader import grading_run

    return grading_run.grade(course, cards, wishes)


def _list(course: Course) -> int:
    """Show all katas, those begun marked."""
    from grader.progress import board

    click.echo(board(course), nl=False)
    return PASSED


def _protect(course: Course) -> int:
    """Which of the files that judge are no longer as they came."""
    from grader.release_list import changed_files

    changed = changed_files(course.root)
    for name in changed:
        click.echo(f"changed: {name}")
    if not changed:
        click.echo("Every file that judges is as it came.")
    return FAILED if changed else PASSED


def _give_hint(course: Course, cards: list[Card]) -> int:
    """The next hint of one kata: each call shows one more, from a nudge to nearly the answer."""
    if len(cards) != 1:
        raise CourseError("`--hint` goes with the name of one kata: grade --hint softmax.")
    from grader.hints import next_hint

    click.echo(next_hint(course, cards[0]))
    return PASSED
