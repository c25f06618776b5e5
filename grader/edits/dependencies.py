"""On which lines of a source the values of other lines depend."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class _Step:
    """The lines of a statement without its body, and the names that it reads and binds.

    A variable is written `f:x` with its function, a member `self.x`, what a function returns `return f`, its
    header `def f`, its calls `call f`, and a condition `test 3` with its line.
    """

    lines: range
    reads: set[str]
    binds: set[str]


def distances(tree: ast.Module, lines: Collection[int]) -> dict[int, int]:
    """Return the lines on which some lines depend, with the number of statements on the way: 0 for the lines
    themselves. A variable depends on all statements of its function that bind it, a call on what the function
    returns, a parameter on all calls, and a statement on the condition around it."""
    left = list(_steps(tree, "", set()))
    near = [step for step in left if not set(lines).isdisjoint(step.lines)]
    found: dict[int, int] = {}
    distance = 0
    while near:
        for line in (line for step in near for line in step.lines):
            found.setdefault(line, distance)
        left = [step for step in left if step not in near]
        read = set().union(*(step.reads for step in near))
        near = [step for step in left if not read.isdisjoint(step.binds)]
        distance += 1
    return found


def _steps(node: ast.AST, where: str, tests: set[str]) -> Iterator[_Step]:
    """Yield the statements inside a node. `where` is the function, `tests` what decides whether they run."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            parameters = {f"{child.name}:{arg.arg}" for arg in child.args.args}
            first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
            header = f"def {child.name}"
            yield _Step(range(first, child.lineno + 1), {f"call {child.name}"}, {*parameters, header})
            yield from _steps(child, child.name, {header})
        elif isinstance(child, ast.stmt) and not isinstance(child, ast.ClassDef):
            inner = {f"test {child.lineno}"} if hasattr(child, "body") else set[str]()
            yield _step(child, where, tests, inner)
            yield from _steps(child, where, inner or tests)
        else:
            yield from _steps(child, where, tests)


def _step(node: ast.stmt, where: str, tests: set[str], inner: set[str]) -> _Step:
    parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]
    nodes = [one for part in parts for one in ast.walk(part)]
    own = [n for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "self"]
    called = {name for n in nodes if isinstance(n, ast.Call) for name in _called(n)}
    reads = {f"{where}:{n.id}" for n in nodes if isinstance(n, ast.Name)} | {f"self.{n.attr}" for n in own}
    bound = {id(n) for target in _targets(node) for n in ast.walk(target)}
    binds = {f"{where}:{n.id}" for n in nodes if isinstance(n, ast.Name) and id(n) in bound}
    binds |= {f"self.{n.attr}" for n in own if id(n) in bound}
    binds |= {f"call {name}" for name in called} | inner
    binds |= {f"return {where}"} if isinstance(node, ast.Return) else set()
    last = max((getattr(part, "end_lineno", 0) for part in parts), default=node.lineno)
    lines = range(node.lineno, max(last, node.lineno) + 1)
    return _Step(lines, reads | tests | {f"return {name}" for name in called}, binds)


def _targets(node: ast.stmt) -> list[ast.AST]:
    """Return what a statement binds or changes; a call that stands alone may change all that it reads."""
    if isinstance(node, ast.Assign):
        return [*node.targets]
    if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        return [node.target]
    return [node] if isinstance(node, ast.Expr) else []


def _called(node: ast.Call) -> set[str]:
    """Return the functions that a call may run; a call of a member may run its `forward`."""
    if isinstance(node.func, ast.Attribute):
        return {node.func.attr, "forward"} if ast.unparse(node.func).startswith("self.") else {node.func.attr}
    return {node.func.id} if isinstance(node.func, ast.Name) else set()
