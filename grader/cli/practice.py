"""Bring back the stubs of katas: `grade again NAME`, `grade reset`, and the key `x` of the loop.

Show the reference of a kata that was passed beside the student's file: `grade solution NAME`.

The solutions are those of the course, or those that `kata wheel --solutions` has put into the wheel. No
worker can read either of them.
"""

from __future__ import annotations

import ast
import zipfile
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size

import click

from grader.cli.options import PASSED, WRONG_INPUT, WrongInput, columns
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import from_here, read_file, text_of
from grader.course.known_solutions import other_ways
from grader.course.state import CourseState
from grader.course.stubs import REPLACED_COPIES, Versions, is_untouched, stub_source
from grader.course.submission import library_of
from grader.errors import reason_of
from grader.texts.escaping import harmless
from grader.texts.wrapping import paragraphs, words

RULE = " │ "  # between two columns
WIDE = 120  # columns of a terminal in which two files fit side by side

PACKAGE = Path(__file__).resolve().parents[1]
SOLUTIONS = "solutions.zip"  # in the package of an installed wheel; only in those that show solutions


def solution_text(course: Course, info: KataInfo) -> str:
    """Return the student's file and the reference, side by side in a wide terminal, and other ways to write
    it. Raises CourseError if the kata was not passed or there is no solution."""
    if not CourseState(course).kata(info.name).has_passed:
        raise CourseError(f"{info.name} has not passed yet: its solution is shown once it has.")
    reference = _text(course, info, "reference")
    if not reference:
        raise CourseError(f"There is no solution of {info.name} here: this course keeps it to itself.")
    width = get_terminal_size().columns
    room = (width - len(RULE)) // 2 if width >= WIDE else width
    mine = text_of(course.stub(info))
    if library_of(info, mine) != info.library:
        reference = _text(course, info, "in_torch") or reference
    own = ["Your file", "", *_wrapped(mine, room)]
    theirs = ["The reference", "", *_wrapped(reference, room)]
    blocks = [_beside(own, theirs)] if room < width else [own, theirs]
    blocks += [
        [*words(title, width), "", *_wrapped(code, width)]
        for title, code in other_ways(_text(course, info, "variants"))
    ]
    return "\n\n\n".join("\n".join(block) for block in blocks)


def has_solution(course: Course, info: KataInfo) -> bool:
    """Return whether there is a solution to show, whether or not the kata was passed."""
    return bool(_text(course, info, "reference"))


def _text(course: Course, info: KataInfo, part: str) -> str:
    """Return a file of the solutions, from the course or from the installed wheel; "" if there is none."""
    path = course.solution(info, part)
    if path.is_file():
        return text_of(path)
    name = path.relative_to(course.root).as_posix()
    with suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(PACKAGE / SOLUTIONS) as archive:
        return archive.read(name).decode("utf-8", "replace")
    return ""


def _code(source: str) -> list[str]:
    """Return the lines of a source without the docstring at its top, which is the statement, and with two
    blank lines in a row at most."""
    lines = harmless(source).expandtabs(4).splitlines()
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.parse(source)
        if tree.body and ast.get_docstring(tree) is not None:
            lines = lines[tree.body[0].end_lineno :]
    kept = [
        line.rstrip() for at, line in enumerate(lines) if any(part.strip() for part in lines[at : at + 3])
    ]
    first = next((at for at, line in enumerate(kept) if line), 0)
    return kept[first:]


def _wrapped(source: str, width: int) -> list[str]:
    """Return the lines of code; one that is longer than `width` goes on further to the right."""
    return [
        part
        for line in _code(source)
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
