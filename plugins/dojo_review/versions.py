"""`grade review --which`: of two versions of an answer, which is broken, and which input tells them apart?"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from dojo_review.faults import Fault
from grader.course.catalog import KataInfo
from grader.course.submission import SubmissionRejected, parse
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.grading.session import started
from grader.texts.escaping import harmless
from grader.values.comparison import Tolerance, first_difference
from grader.values.formatting import show
from grader.worker.client import CALL_SECONDS, WorkerLost
from grader.worker.proxies import RemoteObject

ASKED = "value_of_the_expression"
IMPORTS = "import numpy as np\n"
LONGEST_EXPRESSION = 2_000  # characters of an expression
TOLERANCE = Tolerance(64)  # roundings, which no fault is


@dataclass(frozen=True)
class Value:
    """What an expression gives beside one version: its value as text, or the exception."""

    value: Any = None
    error: str = ""

    def __str__(self) -> str:
        return harmless(self.error or show(self.value))


@dataclass(frozen=True)
class ToldApart:
    """What both versions give; whether that tells them apart; and why it cannot be judged, as a sentence."""

    right: Value = Value()
    broken: Value = Value()
    differs: bool = False
    problem: str = ""


def tell_apart(grader: Grader, info: KataInfo, source: str, fault: Fault, expression: str) -> ToldApart:
    """Return what an expression gives beside the answer and beside the answer with the fault."""
    text = expression.strip()[:LONGEST_EXPRESSION]
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ToldApart(problem="That is no expression: write a call such as the ones in the statement.")
    right, broken = (_value(grader, info, version, text) for version in (source, fault.source))
    if isinstance(right.value, RemoteObject) or isinstance(broken.value, RemoteObject):
        return ToldApart(right, broken, problem="That gives an object: ask for its numbers.")
    if right.error or broken.error:
        return ToldApart(right, broken, right.error != broken.error)
    difference = first_difference(right.value, broken.value, TOLERANCE)
    return ToldApart(right, broken, difference is not None)


def _value(grader: Grader, info: KataInfo, source: str, expression: str) -> Value:
    """Return what an expression gives below a source, in a worker of its own."""
    whole = f"{source.rstrip()}\n\n\n{IMPORTS}def {ASKED}(): return ({expression}\n)\n"
    try:
        submission = parse(info, source, f"{info.name}.py")
    except SubmissionRejected as refused:
        return Value(error=str(refused))
    loading = {"source": whole, "entry_points": [ASKED], "forbidden": []}
    try:
        with started(grader, submission) as student:
            student.load(info.name, CALL_SECONDS, f"{info.name}.py", **loading)
            return Value(student.call(ASKED, None, [], {}))
    except SubmissionFailed as failed:
        return Value(error=f"{failed.kinds[0]}: {failed.message}")
    except WorkerLost as lost:
        return Value(error=str(lost))


def function_around(source: str, line: int) -> range:
    """Return the lines of the innermost function around a line, or else of the statement."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    spans = [(node, range(node.lineno, (node.end_lineno or node.lineno) + 1)) for node in nodes]
    around = [(node, span) for node, span in spans if line in span]
    functions = [span for node, span in around if isinstance(node, ast.FunctionDef)]
    return min(functions or [span for _, span in around], key=len)
