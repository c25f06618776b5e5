"""`grade puzzle`: the dialogue in the terminal."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from dojo_puzzle.judging import BadOrder, JudgedOrder, judge, order_of
from dojo_puzzle.offer import puzzle_of, shown_puzzle
from dojo_puzzle.puzzle import Puzzle, listing, opening
from grader.cli.options import FAILED, PASSED, GradeOptions, columns
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import from_here
from grader.grading.grader import Grader
from grader.grading.session import open_grader, require_installed
from grader.texts.wrapping import paragraphs


def run_puzzle(course: Course, options: GradeOptions) -> int:
    """Show the puzzle of a kata, judge orders until one passes or none is given, and return the exit code."""
    infos = list(dict.fromkeys(info for name in options.names for info in course.katas_meant(name)))
    if len(infos) != 1:
        name = next(iter(course.katas), "NAME")
        raise CourseError(f"`grade puzzle` goes with the name of one kata: grade puzzle {name}.")
    info = infos[0]
    puzzle_of(course, info)
    require_installed(info)
    grader, factories = open_grader(course, [info], options.grader_settings)
    with closing(factories):
        puzzle = shown_puzzle(course, info)
        _say(opening(puzzle))
        click.echo("\n".join(["", *listing(puzzle, columns()), ""]))
        return _ask(course, info, grader, puzzle)


def _ask(course: Course, info: KataInfo, grader: Grader, puzzle: Puzzle) -> int:
    """Ask for an order until one passes; Enter, Ctrl-C and the end of the input end it."""
    example = " ".join([*puzzle.lines][2::-1])
    question = f"Order from the top, such as {example}; Enter ends"
    while answer := _answer(question):
        try:
            order = order_of(puzzle, answer)
        except BadOrder as complaint:
            _say(f"{complaint}\n")
            continue
        judged = _judged(puzzle, info, grader, order)
        if judged.passes:
            file = from_here(course.stub(info))
            _say(f"✓ Every check passes. Now write it yourself in {file}: your file counts.")
            return PASSED
        sign = "" if judged.right == len(order) else "✗ "
        _say(f"{sign}{judged.told}\n")
    _say(f"The puzzle stays as it is:  grade puzzle {info.name}")
    return FAILED


def _answer(question: str) -> str:
    try:
        return str(click.prompt(question, default="", show_default=False)).strip()
    except click.Abort:
        click.echo()
        return ""


def _judged(puzzle: Puzzle, info: KataInfo, grader: Grader, order: list[str]) -> JudgedOrder:
    looks = sys.stderr.isatty()
    if looks:
        click.echo("running …", nl=False, err=True)
    try:
        return judge(puzzle, info, grader, order)
    finally:
        if looks:
            click.echo("\r\x1b[K", nl=False, err=True, color=True)


def _say(text: str) -> None:
    click.echo(paragraphs(text, columns()))
