"""Bring back the stubs of katas: `grade again NAME`, `grade reset`, and the key `x` of the loop.

Show the reference of a kata that was passed beside the student's file: `grade solution NAME`.
"""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size

import click

from grader.cli.options import PASSED, WRONG_INPUT, WrongInput, columns
from grader.course.catalog import Course, KataInfo
from grader.course.files import from_here, read_file, text_of
from grader.course.shown_solutions import code_of, solutions
from grader.course.state import CourseState
from grader.course.stubs import REPLACED_COPIES, Versions, is_untouched, stub_source
from grader.errors import reason_of
from grader.texts.wrapping import paragraphs, words

RULE = " │ "  # between two columns
WIDE = 120  # columns of a terminal in which two files fit side by side


def solution_text(course: Course, info: KataInfo) -> str:
    """Return the student's file and the reference, side by side in a wide terminal, and other ways to write
    it. Raises CourseError if the kata was not passed or there is no solution."""
    (title, reference), *ways = solutions(course, info)
    width = get_terminal_size().columns
    room = (width - len(RULE)) // 2 if width >= WIDE else width
    own = ["Your file", "", *_wrapped(code_of(text_of(course.stub(info))), room)]
    theirs = [title, "", *_wrapped(reference, room)]
    blocks = [_beside(own, theirs)] if room < width else [own, theirs]
    blocks += [[*words(title, width), "", *_wrapped(code, width)] for title, code in ways]
    return "\n\n\n".join("\n".join(block) for block in blocks)


def _wrapped(lines: list[str], width: int) -> list[str]:
    """Return the lines of code; one that is longer than `width` goes on further to the right."""
    return [
        part
        for line in lines
        for part in words(line, width, "", " " * (len(line) - len(line.lstrip()) + 8)) or [""]
    ]


def _beside(left: list[str], right: list[str]) -> list[str]:
    """Return two texts side by side."""
    room = max(map(len, left))
    return [f"{one:{room}}{RULE}{other}".rstrip() for one, other in zip_longest(left, right, fillvalue="")]


MOST_NAMES = 4  # that a question lists


def bring_back(course: Course, infos: list[KataInfo], *, are_all: bool) -> int:
    """Ask once, then write the stubs of these katas to their files, say of each other one why it stays, and
    return the exit code."""
    versions, code = Versions(CourseState(course).folder), PASSED
    changed: dict[KataInfo, bytes] = {}
    for info in infos:
        if are_all and _is_stub(course, info):
            continue
        data = stub_source(course, info, versions)
        if data is None:
            code = _refuse(f"There is no copy of the stub of {info.name}: it was never graded as a stub.")
        elif not versions.holds(course.stub(info), data):
            changed[info] = data
        elif not are_all:
            click.echo(f"{info.name} is the stub already.")
    if are_all and not changed and code == PASSED:
        click.echo("Nothing to bring back: no file was changed.")
    if changed:
        click.confirm(
            paragraphs(replacing_question([info.name for info in changed], versions), columns()),
            abort=True,
        )
    for info, data in changed.items():
        path = course.stub(info)
        try:
            copy = versions.replace(info, path, data)
        except OSError as error:
            code = _refuse(f"{from_here(path)} cannot be written: {reason_of(error)}.")
        else:
            click.echo(paragraphs(brought_back(info, "The stub", copy), columns()))
    return code


def _refuse(why: str) -> int:
    """Print why a stub is not brought back and return the exit code."""
    WrongInput(why).show()
    return WRONG_INPUT


def replacing_question(names: list[str], versions: Versions) -> str:
    """Return the question before files are replaced, which says where their copies are."""
    shown = ", ".join([*names[:MOST_NAMES], "…"] if len(names) > MOST_NAMES else names)
    many = f"{len(names)} katas ({shown})"
    which = names[0] if len(names) == 1 else many
    files = "A copy of your file" if len(names) == 1 else "Copies of your files"
    return (
        f"Bring back the stub of {which}? {files} will be in {from_here(versions.folder / REPLACED_COPIES)}."
    )


def brought_back(info: KataInfo, what: str, copy: Path | None) -> str:
    """Return that a version is back, and where a copy of the file is that it replaced."""
    kept = f" What it replaced is in {from_here(copy)}." if copy else ""
    return f"{what} of {info.name} is back.{kept}"


def _is_stub(course: Course, info: KataInfo) -> bool:
    try:
        return is_untouched(info, read_file(course.stub(info)))
    except OSError:
        return False
