"""Run a student's own lines after the code of a file, in a worker, and draw their last value."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Any

from grader.course.catalog import Course
from grader.course.files import text_of
from grader.course.submission import Submission
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.grading.pictures import picture_of
from grader.grading.startup import lacks_library
from grader.grading.submission_run import START_SECONDS
from grader.page.messages import Tried, Try
from grader.report_texts import harmless
from grader.values.formatting import show
from grader.worker.client import CALL_SECONDS, RemoteStudent, WorkerLost
from grader.worker.protocol.channel import Flooded

LAST = "value_of_the_last_line"
LONGEST = 1 << 16  # characters of the lines


def try_lines(grader: Grader, course: Course, asked: Try) -> Tried:
    """Return what the lines print, and the value of the last one if it is an expression."""
    info = course.kata_info(asked.kata)
    submission = Submission(info, text_of(course.stub(info)), f"{info.name}.py")
    if lacks_library(submission):
        return Tried(asked.number, "", problem="PyTorch is not installed.")
    try:
        lines, names = _with_function(asked.lines[:LONGEST], info.name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"Line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        return Tried(asked.number, "", problem=f"{where}{getattr(error, 'msg', error)}.")
    source = f"{submission.source.rstrip()}\n\n\n"
    above = source.count("\n")
    with grader.factories[submission.library].start(grader.device) as process:
        student = RemoteStudent(process, library=submission.library, as_tensors=submission.as_tensors)
        value, problem = None, ""
        try:
            student.greeting(START_SECONDS)
            loading = {"source": source + lines, "entry_points": names, "forbidden": []}
            student.load(info.name, CALL_SECONDS, f"{info.name}.py", **loading)
            value = student.call(LAST, None, [], {}) if names else None
        except SubmissionFailed as failed:
            problem = _told(failed, above)
        except WorkerLost as lost:
            problem = str(lost)
        with suppress(Flooded):
            process.channel.drain()
    return Tried(asked.number, harmless(student.printed), _text(value), picture_of(value), harmless(problem))


def _with_function(lines: str, module: str) -> tuple[str, list[str]]:
    """Return the lines, which keep their numbers, without imports of the file itself, and with the last
    expression as the body of a function; the names of such functions."""
    body, text = ast.parse(lines).body, lines.splitlines()
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            text[node.lineno - 1 : node.end_lineno] = [""] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or last.col_offset or _prints(last.value):
        return "\n".join(text), []
    text[last.lineno - 1] = f"def {LAST}(): return ({text[last.lineno - 1]}"
    return "\n".join([*text[: last.end_lineno], ")"]), [LAST]


def _prints(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _told(failed: SubmissionFailed, above: int) -> str:
    """Return the error, with its line counted from the first of the student's lines if it is one of them."""
    where = f"line {failed.line}" if failed.line else ""
    if failed.line and failed.line > above:
        where = f"line {failed.line - above} of these lines"
    return f"{failed.kinds[0]}: {failed.message}" + f" ({where})" * bool(where)


def _text(value: Any) -> str:
    return "" if value is None else harmless(show(value))
