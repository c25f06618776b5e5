"""Bring back the stubs of katas: `grade --again NAME`, `grade --reset`, and the key `x` of the loop."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import PASSED, WRONG_INPUT, WrongInput, columns
from grader.course.catalog import Course, KataInfo
from grader.course.files import read_file
from grader.course.loading import from_here
from grader.course.state import REPLACED, CourseState, Versions
from grader.course.stubs import is_untouched, stub_source
from grader.errors import reason_of
from grader.formats.wrapping import paragraphs

MOST_NAMES = 4  # that a question lists


def bring_back(course: Course, infos: list[KataInfo], are_all: bool) -> int:
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
        click.confirm(paragraphs(question([info.name for info in changed], versions), columns()), abort=True)
    for info, data in changed.items():
        path = course.stub(info)
        try:
            copy = versions.replace(info, path, data)
        except OSError as error:
            code = _refuse(f"{from_here(path)} cannot be written: {reason_of(error)}.")
        else:
            click.echo(paragraphs(confirmation(info, "The stub", copy), columns()))
    return code


def _refuse(why: str) -> int:
    """Print why a stub is not brought back and return the exit code."""
    WrongInput(why).show()
    return WRONG_INPUT


def question(names: list[str], versions: Versions) -> str:
    """Return the question before files are replaced, which says where their copies are."""
    many = f"{len(names)} katas ({', '.join(names[:MOST_NAMES])}{', …' * (len(names) > MOST_NAMES)})"
    which = names[0] if len(names) == 1 else many
    files = "A copy of your file" if len(names) == 1 else "Copies of your files"
    return f"Bring back the stub of {which}? {files} will be in {from_here(versions.folder / REPLACED)}."


def confirmation(info: KataInfo, what: str, copy: Path | None) -> str:
    """Return that a version is back, and where a copy of the file is that it replaced."""
    kept = f" What it replaced is in {from_here(copy)}." if copy else ""
    return f"{what} of {info.name} is back.{kept}"


def _is_stub(course: Course, info: KataInfo) -> bool:
    try:
        return is_untouched(info, read_file(course.stub(info)))
    except OSError:
        return False
