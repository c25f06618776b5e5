"""Say at which line of a submission the numbers are still right, where its mistake has no name and no place.

The submission runs with a record of the arrays that it assigns, and the reference with one of all its
intermediate arrays. A variable is right if one and the same step of the reference has its shape and its
values in at least two cases. The reference's values and names stay here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from grader.checks.runner import CheckResult
from grader.edits.candidates import EditPlace
from grader.values.arrays import leaves, to_numpy
from grader.worker.calls import Call
from grader.worker.in_process import LocalStudent
from grader.worker.student import Student

MOST_CASES = 4  # that are compared
MOST_CHECKS = 4  # whose cases are compared
LEAST_CASES = 2  # in which a variable has the numbers of a step of the reference
FACT = (
    "At line {} (`{}`) the numbers are still right; {} is the first after it whose numbers no step of the"
    " reference has. This alone does not make it wrong."
)
STEPS, RECORD = "_steps_of_the_grader", "_recorded_by_the_grader"
RECORDER = f"""
{STEPS} = []
def {RECORD}(number, value):
    shape = getattr(value, "shape", None)
    if type(shape) is tuple or type(shape).__name__ == "Size":
        size = 1
        for length in shape:
            size *= length
        if size <= 4096 and len({STEPS}) < 400:
            {STEPS}.append([number, value.detach().clone() if hasattr(value, "detach") else value.copy()])
    return value
"""
ENTRY = """
_{name}_of_the_answer = {name}
def {name}(*args, **kwargs):
    {steps}.clear()
    try:
        _{name}_of_the_answer(*args, **kwargs)
    except Exception:
        pass
    return [*{steps}]
"""
Array = np.ndarray[Any, Any]
Record = list[tuple[int, Array]]


@dataclass(frozen=True)
class LineStep:
    """A line of a submission and the variable that it assigns; "" for what it returns."""

    line: int
    name: str


def parting_place(
    source: str, reference: str, results: Sequence[CheckResult], load: Callable[[str], Student]
) -> EditPlace | None:
    """Return the first line whose numbers are not right, if an earlier one has right numbers. `load` starts a
    source as the student's. Raises SubmissionFailed, WorkerLost."""
    tree = ast.parse(source)
    recorder = _Assigned()
    recorder.visit(tree)
    every = _Every().visit(ast.parse(reference))
    called = {call.name for result in results for one in result.failures if (call := one.call)}
    for calls in islice(_groups(results), MOST_CHECKS):
        name = calls[0].name
        own = load(_recording(tree, name))
        right = LocalStudent.from_source("reference", _recording(every, name))
        last, order = _last_right([(call, _run(own, call), _run(right, call)) for call in calls])
        later = order[order.index(last) + 1 :] if last is not None else []
        if last is not None and later:
            step, wrong = recorder.steps[last], recorder.steps[later[0]]
            said = f"line {wrong.line} (`{wrong.name}`)" if wrong.name else f"the result of line {wrong.line}"
            fact = FACT.format(step.line, step.name, said)
            if len(called) > 1:
                fact = f"In calls of `{name}`: {fact}"
            return EditPlace(wrong.line, None, "numbers", fact) if step.line < wrong.line else None
    return None


def _groups(results: Sequence[CheckResult]) -> Iterator[list[Call]]:
    """Yield failing calls of one function, those of one check together, for each check that has enough."""
    for result in results:
        failures = sorted(result.failures, key=lambda failure: failure.case.weight)
        calls = [failure.call for failure in failures if len(failure.trace) == 1]
        found = [call for call in calls if call and not call.target and not _objects(call)]
        varied = [call for call in found if any(a is not None and a.size > 3 for a in _arrays(call))] or found
        if len(varied) >= LEAST_CASES:
            yield varied[:: max(1, len(varied) // MOST_CASES)][:MOST_CASES]


def _objects(call: Call) -> bool:
    """Return whether an argument is neither data nor an array, such as a function."""
    plain = (int, float, str, bool, type(None))
    return any(not isinstance(leaf, plain) and to_numpy(leaf) is None for leaf in _given(call))


def _given(call: Call) -> list[Any]:
    return [*leaves([*call.args, *call.kwargs.values()])]


def _arrays(call: Call) -> list[Array | None]:
    return [to_numpy(leaf) for leaf in _given(call)]


def _recording(tree: ast.Module, name: str) -> str:
    """Return the source of a tree that records, whose function of that name returns the record."""
    at = next((n for n, node in enumerate(tree.body) if not _comes_first(node)), len(tree.body))
    entry = ast.parse(ENTRY.format(name=name, steps=STEPS)).body
    body = [*tree.body[:at], *ast.parse(RECORDER).body, *tree.body[at:], *entry]
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def _comes_first(node: ast.stmt) -> bool:
    """Return whether a statement is the docstring or an import from `__future__`."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _run(student: Student, call: Call) -> Record:
    """Return what a call records, by the numbers of the steps."""
    found = getattr(student, call.name)(*call.args, **call.kwargs)
    pairs = ((number, to_numpy(value)) for number, value in found)
    return [(number, value) for number, value in pairs if value is not None]


def _last_right(pairs: Sequence[tuple[Call, Record, Record]]) -> tuple[int | None, list[int]]:
    """Return the number of the last step whose numbers a step of the reference has, and the numbers of the
    steps that can show it, in the order in which they first run."""
    shown: dict[int, list[Array]] = {}  # by step, the numbers of the cases that can show whether it is right
    sites: dict[int, list[set[int]]] = {}  # the steps of the reference that have these numbers
    orders: list[list[int]] = []
    for call, own, right in pairs:
        given = [array for array in _arrays(call) if array is not None]
        orders.append(list(dict.fromkeys(number for number, _ in own)))
        by_step = {number: [value for n, value in own if n == number] for number in orders[-1]}
        for number, values in by_step.items():
            if all(_tells(value) and not any(_is_same(value, one) for one in given) for value in values):
                shown.setdefault(number, []).append(values[-1])
                same = {n for n, value in right if _is_same(values[-1], value)}
                sites.setdefault(number, []).append(same)
    telling = {number for number, values in shown.items() if len(values) >= LEAST_CASES and _vary(values)}
    order = [number for number in max(orders, key=len, default=[]) if number in telling]
    right_ones = (number for number in reversed(order) if set.intersection(*sites[number]))
    return next(right_ones, None), order


def _tells(value: Array) -> bool:
    """Return whether an array can show that a step is right: it has several numbers."""
    return value.dtype.kind in "biuf" and len(np.unique(value)) > (1 if value.dtype.kind == "b" else 2)


def _vary(values: Sequence[Array]) -> bool:
    return any(not _is_same(values[0], other) for other in values[1:])


def _is_same(one: Array, other: Array) -> bool:
    if one.shape != other.shape or (one.dtype.kind == "b") != (other.dtype.kind == "b"):
        return False
    if one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf":
        return False
    scale = float(np.max(np.abs(other[np.isfinite(other)]), initial=0.0))
    return bool(np.allclose(one, other, rtol=1e-4, atol=1e-5 * scale, equal_nan=True))


def _recorded(number: int, value: ast.expr) -> ast.Call:
    call = ast.Call(ast.Name(RECORD, ast.Load()), [ast.Constant(number), value], [])
    return ast.copy_location(call, value)


class _Assigned(ast.NodeTransformer):
    """Records the variables that functions assign, and what they return."""

    def __init__(self) -> None:
        self.steps: list[LineStep] = []
        self._inside = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def _with_record(self, node: ast.stmt, targets: Sequence[ast.expr]) -> list[ast.stmt]:
        names = [name for target in targets for name in _names(target)] if self._inside else []
        return [node, *(ast.copy_location(self._record(node, name), node) for name in dict.fromkeys(names))]

    def _record(self, node: ast.stmt, name: str) -> ast.stmt:
        self.steps.append(LineStep(node.lineno, name))
        return ast.Expr(_recorded(len(self.steps) - 1, ast.copy_location(ast.Name(name, ast.Load()), node)))

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return self._with_record(node, node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        return self._with_record(node, [node.target])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return self._with_record(node, [node.target] if node.value else [])

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is not None and not isinstance(node.value, ast.Name | ast.Tuple) and self._inside == 1:
            self.steps.append(LineStep(node.lineno, ""))
            node.value = _recorded(len(self.steps) - 1, node.value)
        return node


def _names(target: ast.expr) -> Iterator[str]:
    """Yield the variables that an assignment changes."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _names(part)
    elif isinstance(target, ast.Subscript):
        yield from _names(target.value)


class _Every(ast.NodeTransformer):
    """Records every expression that can hold an array."""

    def __init__(self) -> None:
        self._count = 0

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.pattern | ast.Lambda):
            return node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = [self.visit(part) for part in node.body]
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = node.value and self.visit(node.value)
            return node
        self.generic_visit(node)
        kinds = ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call | ast.Attribute | ast.Subscript | ast.Name
        if not isinstance(node, kinds) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return node
        self._count += 1
        return _recorded(self._count, node)
