"""`grade laws`: write laws for a kata that has passed, and see which faults they catch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

import click
import msgspec

from dojo_review.laws import (
    AnswerVersion,
    JudgedLaw,
    Judgement,
    functions_of,
    judge_laws,
    laws_in,
    versions_of,
)
from dojo_review.review import Unsuitable, answer_of, require_passes
from grader.cli.options import FAILED, PASSED, GradeOptions, columns
from grader.cli.progress import Progress
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import Folder, from_here, read_below, read_file
from grader.course.state import CourseState
from grader.course.submission import SubmissionRejected, decoded, parse, read_bytes
from grader.errors import reason_of
from grader.grading.session import open_grader, require_installed
from grader.kata import Arguments
from grader.texts.escaping import harmless
from grader.texts.phrases import counted
from grader.texts.points import points
from grader.texts.wrapping import paragraphs, words

FOLDER = "laws"  # beside the exercises, and in the state
FULL = 1000  # points, in hundredths
IMPORTS = {"numpy": "import numpy as np", "torch": "import torch"}
STUB = '''"""Laws of {name}: what is true of every right {name}, and of no wrong one.

Write functions whose names begin with `test_`, and `assert` what has to hold. They take,
by these names,

    {functions}
    {arguments}

The arguments are drawn as for the kata; its statement says what they are. Call a function
as often as you like, also with values of your own. What it raises has the same class here.

A law that refuses a right version does not count. All are asked in two rounds, and a fault
is caught if the law fails in both. The points are the share of faults that
your laws catch, each kind of fault alike.
"""

{imports}
'''


def run_laws(course: Course, options: GradeOptions) -> int:
    """Judge the laws of a kata, or write the file for them; return the exit code."""
    infos = [info for name in options.names for info in course.katas_meant(name)]
    if len(infos) != 1:
        name = next(iter(course.katas), "NAME")
        raise CourseError(f"`grade laws` goes with the name of one kata: grade laws {name}.")
    info = infos[0]
    require_installed(info)
    if not CourseState(course).kata(info.name).has_passed:
        raise CourseError(f"{info.name} has not passed yet: laws are judged by an answer of yours that has.")
    try:
        return _run(course, info, options)
    except Unsuitable as reason:
        raise CourseError(f"{info.name}: {reason}") from None


def _run(course: Course, info: KataInfo, options: GradeOptions) -> int:
    """Judge the laws of a kata that has passed, or write the file for them. Raises Unsuitable."""
    own = answer_of(course, info)
    path = course.exercises.parent / FOLDER / f"{info.name}.py"
    grader, factories = open_grader(course, [info], options.grader_settings)
    with closing(factories):
        submission = parse(info, own, f"{info.name}.py")
        prepared = grader.prepare(info, submission.library)
        _, names = functions_of(grader, prepared)
        if not path.is_symlink() and not path.exists():
            cases = [case.arguments for case in prepared.oracle.answered.cases]
            _write(path, stub_of(info.name, names, drawn_in(cases), submission.library))
            _say(f"Write your laws in {from_here(path)}, then: grade laws {info.name}")
            return FAILED
        text = _read(path)
        doing = [""]
        with Progress(f"laws of {info.name}", lambda: doing[0], columns(), stops=False):
            versions = _known(course, info, own)
            if not versions:
                require_passes(grader, info, own)
                doing[0] = "making versions with a fault"
                versions = versions_of(grader, prepared, own, info.name)
                _keep(course, info, own, versions)
            judgement = judge_laws(grader, prepared, text, versions, lambda now: doing.__setitem__(0, now))
    click.echo("\n".join(told(info.name, judgement, columns())))
    return PASSED if judgement.hundredths == FULL else FAILED


def drawn_in(cases: Sequence[Arguments]) -> list[str]:
    """Return the arguments of some cases by name, options with the first that are given."""
    options: Arguments = {
        name: next((case[name] for case in cases if case[name]), {})
        for name, value in cases[0].items()
        if isinstance(value, dict)
    }
    return [f"{name}, such as {options[name]}" if options.get(name) else name for name in cases[0]]


def stub_of(name: str, functions: Mapping[str, Sequence[str]], arguments: Sequence[str], library: str) -> str:
    """Return the file in which laws are written."""
    calls = "\n    ".join(f"{function}({', '.join(given)})" for function, given in functions.items())
    return STUB.format(name=name, functions=calls, arguments=", ".join(arguments), imports=IMPORTS[library])


def _say(text: str) -> None:
    click.echo(paragraphs(text, columns()))


def _write(path: Path, text: str) -> None:
    try:
        with Folder(path.parent, makes=True, follows_links=False) as folder:
            folder.write(path.name, data=text.encode())
    except OSError as error:
        raise CourseError(f"{from_here(path)} cannot be written: {reason_of(error)}.") from None


def _read(path: Path) -> str:
    """Return the file of laws. Raises SubmissionRejected if it cannot be read or holds none."""
    label = str(from_here(path))
    text = decoded(read_bytes(path, label), label)
    try:
        found = laws_in(text)
    except SyntaxError as error:
        where = f" in line {error.lineno}" if error.lineno else ""
        raise SubmissionRejected(f"{label} has a syntax error{where}: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError):
        raise SubmissionRejected(f"{label} cannot be read as Python.") from None
    if not found:
        raise SubmissionRejected(f"{label} has no law yet: a function whose name begins with `test_`.")
    return text


def told(name: str, judgement: Judgement, width: int) -> list[str]:
    """Return the report: the points, each law, and one fault that no law catches."""
    caught, total = len(judgement.caught), len(judgement.faults)
    score = f"laws of {name}  {points(judgement.hundredths)} / {points(FULL)}"
    lines = [f"{score}   {caught} of {total} faults are caught, of {len(judgement.kinds)} kinds", ""]
    room = max(len(one.law.name) for one in judgement.laws)
    for one in judgement.laws:
        lines += words(
            _of_law(one), width, f"  {'✗' if one.refused else '✓'} {one.law.name:{room}}  ", " " * 6
        )
    missed = [number for number in range(total) if number not in judgement.caught]
    if missed:
        fault = judgement.faults[missed[0]]
        lines += ["", f"No law fails where line {fault.line} of your answer is"]
        lines += words(harmless(fault.now.strip()), width, "    ", " " * 8)
        lines += ["in place of", *words(harmless(fault.was.strip()), width, "    ", " " * 8)]
    return lines


def _of_law(one: JudgedLaw) -> str:
    if one.refused:
        return one.refused
    many, chance = len(one.catches), len(one.by_chance)
    caught = f"holds; catches {counted(many, 'fault')}" if many else "holds, and catches nothing"
    once = f"; {counted(chance, 'fault')} in one round only, which may be chance" if chance else ""
    return caught + once


def _state(course: Course) -> Path:
    return CourseState(course).folder / FOLDER


def _digest(info: KataInfo, own: str) -> str:
    return hashlib.sha256(read_file(info.path) + b"\0" + own.encode()).hexdigest()


class KeptVersions(msgspec.Struct):
    """The versions that were made of an answer, as they are kept between two runs."""

    digest: str  # of the answer and of the kata's declaration
    versions: list[AnswerVersion]


def _known(course: Course, info: KataInfo, own: str) -> list[AnswerVersion]:
    """Return the versions that were made of this answer before; none if it is another one."""
    with suppress(OSError, ValueError, RecursionError):
        kept = msgspec.json.decode(read_below(_state(course), (f"{info.name}.json",)), type=KeptVersions)
        if kept.digest == _digest(info, own):
            return kept.versions
    return []


def _keep(course: Course, info: KataInfo, own: str, versions: Sequence[AnswerVersion]) -> None:
    kept = KeptVersions(_digest(info, own), [*versions])
    with suppress(OSError), Folder(_state(course), makes=True, follows_links=False) as folder:
        folder.write(f"{info.name}.json", data=msgspec.json.encode(kept))
