"""Read a call that a student writes: its arguments by name, as plain data.

The text is parsed and run in a worker that holds the student's own answer alone. What comes back are numbers,
texts, arrays and lists of them: no code of the student's runs beside a function that is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.course.submission import Submission
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.grading.session import started
from grader.kata import Arguments
from grader.texts.escaping import harmless
from grader.worker.client import CALL_SECONDS, WorkerLost

LONGEST_CALL = 2_000  # characters
LONGEST_ERROR = 200  # characters of an error in a sentence
READ = "read_a_call_for_the_grader"
NO_CALL = "no call"
#: Below the student's answer: returns the arguments of a call by name, those that are left out as well.
READER = f"""

def {READ}(text, name):
    import ast
    import inspect
    import sys

    import numpy

    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {NO_CALL!r}
    call = tree.body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != name:
        return {NO_CALL!r}
    signature = inspect.signature(globals()[name])

    def given(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    call.func.id = {READ!r} + "_given"
    known = {{**globals(), "np": numpy, call.func.id: given}}
    if "torch" in sys.modules:
        known["torch"] = sys.modules["torch"]
    return eval(compile(tree, "<your call>", "eval"), known)
"""


@dataclass(frozen=True)
class WrittenInput:
    """The arguments of a call by name; or why there are none, as a sentence."""

    arguments: Arguments = field(default_factory=dict)
    problem: str = ""


def read_input(grader: Grader, submission: Submission, name: str, text: str) -> WrittenInput:
    """Return the arguments of a call of the function `name`, or why they cannot be had."""
    text = text.strip()
    if len(text) > LONGEST_CALL:
        return WrittenInput(problem=f"The call is longer than {LONGEST_CALL:,} characters.")
    file = f"{submission.info.name}.py"
    loading: dict[str, Any] = {
        "source": submission.source.rstrip() + "\n" + READER,
        "entry_points": [READ],
        "forbidden": [],
    }
    try:
        with started(grader, submission) as student:
            student.load(submission.info.name, CALL_SECONDS, file, **loading)
            found = student.call(READ, None, [text, name], {})
    except SubmissionFailed as failed:
        said = f"{failed.kinds[0]}: {failed.message}" if failed.message else failed.kinds[0]
        return WrittenInput(problem=f"The call cannot be made: {harmless(said[:LONGEST_ERROR])}")
    except WorkerLost as lost:
        return WrittenInput(problem=f"The call cannot be made: {harmless(str(lost)[:LONGEST_ERROR])}")
    if type(found) is not dict or not all(type(key) is str for key in found):
        return WrittenInput(problem=f"That is no call of {name}: write one such as {name}(…).")
    return WrittenInput(found)
