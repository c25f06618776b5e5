"""Write a source anew so that it records the arrays that its expressions give, and read what it recorded."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grader.values.arrays import to_numpy
from grader.worker.client import NEW_LINE
from grader.worker.student import Student

Array = np.ndarray[Any, Any]
MOST_STEPS = 2000  # that one answer of a worker can hold
STEPS, ROOM, RECORD = "_steps_of_the_grader", "_room_of_the_grader", "_recorded_by_the_grader"
TAKE = "steps_of_the_grader"
KERNELS = "grader.worker.child.kernels"
#: What a recording source begins with. It keeps each object and each call, so that no other one has the same
#: id.
RECORDER = f"""
import sys as _sys_of_the_grader
{STEPS} = []
{ROOM} = [{MOST_STEPS}]
def {RECORD}(site, value):
    listed = value if isinstance(value, (list, tuple)) and len(value) <= 64 else []
    parts = [id(part) for part in listed if hasattr(part, "shape")]
    kind = type(value)
    is_block = (kind.__module__, kind.__name__) == ("{KERNELS}.blocks", "Block")
    held = value.data if is_block else value
    array, size = None, 0
    is_numpy = type(held).__module__ == "numpy" and hasattr(held, "tobytes")
    if kind.__name__ in ("Tensor", "Parameter") or is_numpy:
        size = 1
        for length in held.shape:
            size *= length
        if size <= 4096:
            array = held.detach().clone() if hasattr(held, "detach") else held.copy()
    if (array is not None or parts) and {ROOM}[0] > 0:
        {ROOM}[0] -= 1 + len(parts) // 8 + size // 250
        frame = _sys_of_the_grader._getframe(1)
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename != frame.f_code.co_filename:
            caller = caller.f_back
        {STEPS}.append([site, array, id(value), parts, id(frame), id(caller), (value, frame, caller)])
    return value
def {TAKE}():
    found = [step[:-1] for step in {STEPS}]
    {STEPS}.clear()
    {ROOM}[0] = {MOST_STEPS}
    return found
"""
NAMES = ast.Name | ast.Attribute
KINDS = NAMES | ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.Call | ast.Subscript | ast.IfExp
CONTAINERS = ast.Tuple | ast.List | ast.ListComp | ast.GeneratorExp
MOST_WORDS = 40  # characters of an expression that a report repeats


@dataclass(frozen=True)
class Site:
    """An expression, or a statement that changes an array in place.

    Attributes:
        line: Its line, from 1.
        columns: Its columns in bytes; None if it has more lines than one.
        text: Its text; "" if that is too long to be repeated.
        inputs: The numbers of the sites whose values it reads.
        computes: Whether it computes something. A name says what was computed before, and an index takes a
            part of it.
    """

    line: int
    columns: tuple[int, int] | None
    text: str
    inputs: tuple[int, ...]
    computes: bool


@dataclass(frozen=True)
class Step:
    """One execution of a site: the array that it gave, if it gave one, the id of the object, and those of its
    parts if it is a list or a tuple; and the ids of the call in which it ran, and of the one around that."""

    site: int
    array: Array | None
    made: int
    parts: tuple[int, ...]
    frame: int
    caller: int


def recording(source: str) -> tuple[str, list[Site]]:
    """Return a changed source that records what its expressions give, and these expressions: a step names
    its own by the place in this list."""
    recorder = _Recorder(source)
    tree = recorder.visit(ast.parse(source))
    return with_helper(tree, RECORDER), recorder.sites


def with_helper(tree: ast.Module, helper: str) -> str:
    """Return the source of a tree with a helper's source in it: after the docstring and the imports from
    `__future__`, which stay first, and before all else."""
    at = next((n for n, node in enumerate(tree.body) if not _comes_first(node)), len(tree.body))
    tree.body[at:at] = ast.parse(helper).body
    return ast.unparse(ast.fix_missing_locations(tree))


def steps_of(student: Student) -> list[Step]:
    """Return what a student that was loaded from such a source has recorded since the last time, in the
    order of execution. Raises SubmissionFailed, WorkerLost."""
    found = getattr(student, TAKE)()
    return [Step(site, to_numpy(array), made, tuple(parts), *ids) for site, array, made, parts, *ids in found]


def _comes_first(node: ast.stmt) -> bool:
    """Return whether a statement is the docstring or an import from `__future__`."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


class _Recorder(ast.NodeTransformer):
    """Records every expression that can hold an array, and each array that a statement changes in place."""

    def __init__(self, source: str) -> None:
        self.sites: list[Site] = []
        self._lines = [line.encode() for line in NEW_LINE.split(source)]
        self._inputs: list[list[int]] = [[]]  # of the expressions around a node, the innermost last

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.pattern):
            return node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = [part for old in node.body for part in self._visited(old)]
            return node
        if isinstance(node, ast.Lambda):
            self._inputs.append([])
            node.body = self.visit(node.body)
            self._inputs.pop()
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = node.value and self.visit(node.value)
            return node
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
            return self._changing(node)
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        has_slices = isinstance(node, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.elts)
        if not isinstance(node, KINDS | CONTAINERS) or not is_read or has_slices:
            return self.generic_visit(node)
        site = partial(Site, node.lineno, _columns(node), self._text(node))
        self._inputs.append([])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # a method is no array
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(part) for part in node.args]
            node.keywords = [self.visit(part) for part in node.keywords]
        else:
            self.generic_visit(node)
        inputs = tuple(self._inputs.pop())
        if isinstance(node, ast.GeneratorExp):  # what it gives is taken one by one
            self._inputs[-1] += inputs
            return node
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "").endswith("_like"):
            inputs = ()  # it has the shape of what it reads, and none of its numbers
        computes = isinstance(node, KINDS) and not isinstance(node, NAMES | ast.Subscript)
        return self._record(node, site(inputs, computes=computes))

    def _visited(self, node: ast.stmt) -> Sequence[ast.stmt]:
        found = self.visit(node)
        return found if isinstance(found, list) else [found]

    def _changing(self, node: ast.Assign | ast.AugAssign | ast.Expr) -> list[ast.stmt]:
        """Return a statement, and a record of each array of which it may change entries."""
        site = partial(Site, node.lineno, _columns(node), self._text(node), computes=True)
        changed = [name for target in _targets(node) for name in _changed(target, node)]
        self._inputs.append([])
        self.generic_visit(node)
        inputs = tuple(self._inputs.pop())
        records = (self._record(ast.parse(name, mode="eval").body, site(inputs)) for name in changed)
        return [node, *(ast.copy_location(ast.Expr(record), node) for record in records)]

    def _record(self, node: ast.expr, site: Site) -> ast.expr:
        self.sites.append(site)
        number = len(self.sites) - 1
        self._inputs[-1].append(number)
        call = ast.Call(ast.Name(RECORD, ast.Load()), [ast.Constant(number), node], [])
        return ast.copy_location(call, node)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        columns = _columns(node)
        text = self._lines[node.lineno - 1][slice(*columns)].decode() if columns else ""
        return text if len(text) <= MOST_WORDS and "`" not in text else ""


def _columns(node: ast.expr | ast.stmt) -> tuple[int, int] | None:
    return (node.col_offset, node.end_col_offset or 0) if node.end_lineno == node.lineno else None


def _targets(node: ast.Assign | ast.AugAssign | ast.Expr) -> list[ast.expr]:
    """Return what a statement assigns to, or the object whose method it calls."""
    match node:
        case ast.Assign():
            return node.targets
        case ast.AugAssign():
            return [node.target]
        case ast.Expr(ast.Call(ast.Attribute(value=called))):
            return [called]
    return []


def _changed(target: ast.expr, node: ast.stmt) -> Iterator[str]:
    """Yield the variables whose entries a statement changes. What it only binds to a name is none."""
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _changed(part, node)
    is_part = isinstance(target, ast.Subscript)
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, NAMES) and (is_part or not isinstance(node, ast.Assign)):
        yield ast.unparse(target)
