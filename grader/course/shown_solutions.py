"""Find the solution of a kata for a student who has passed it: `grade solution`, and the page.

The solutions are those of the course, or those that `kata wheel --solutions` has put into the wheel. No
worker can read either of them.
"""

from __future__ import annotations

import ast
import zipfile
from contextlib import suppress
from pathlib import Path

from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import text_of
from grader.course.known_solutions import other_ways
from grader.course.state import CourseState
from grader.course.submission import library_of
from grader.texts.escaping import harmless

PACKAGE = Path(__file__).resolve().parents[1]
SOLUTIONS = "solutions.zip"  # in the package of an installed wheel; only in those that show solutions


def solutions(course: Course, info: KataInfo) -> list[tuple[str, list[str]]]:
    """Return the reference of a kata, in the library of the student's file, and other ways to write it: each
    with its title and the lines of its code. Raises CourseError if the kata was not passed or there is no
    solution."""
    if not CourseState(course).kata(info.name).has_passed:
        raise CourseError(f"{info.name} has not passed yet: its solution is shown once it has.")
    reference = _text(course, info, "reference")
    if not reference:
        raise CourseError(f"There is no solution of {info.name} here: this course keeps it to itself.")
    if library_of(info, text_of(course.stub(info))) != info.library:
        reference = _text(course, info, "in_torch") or reference
    ways = other_ways(_text(course, info, "variants"))
    return [(title, code_of(code)) for title, code in [("The reference", reference), *ways]]


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


def code_of(source: str) -> list[str]:
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
