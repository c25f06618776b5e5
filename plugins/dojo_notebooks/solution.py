"""The code of a kata's cell, with the reference solution between nbgrader's solution markers.

`nbgrader generate_assignment` replaces everything between two markers by `raise NotImplementedError`.
Functions and methods that only the reference has must therefore stand between markers too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "raise NotImplementedError"
Named = ast.FunctionDef | ast.ClassDef
SIMPLE = ast.Import | ast.ImportFrom | ast.Assign


def with_solution(code: str, reference: str) -> str:
    """Replace each `raise NotImplementedError` of the code by the reference's body, between markers."""
    tree, solution = ast.parse(code), ReferenceSolution(reference)
    lines = code.splitlines()
    bodies = dict(_bodies(tree, solution))
    if not bodies:
        return code
    bodies[max(bodies)] += solution.extras(solution.tree, tree)
    for number in sorted(bodies, reverse=True):
        indent = lines[number - 1].partition(STUB)[0]
        lines[number - 1 : number] = [indent + BEGIN, *bodies[number], indent + END]
    return "\n".join(lines)


def _bodies(tree: ast.Module, solution: ReferenceSolution) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number of each unwritten body of the stub, and the reference's lines for it."""
    for node in tree.body:
        solved = solution.named(solution.tree, getattr(node, "name", ""))
        if isinstance(node, ast.FunctionDef) and _is_unwritten(node) and solved:
            yield node.body[-1].lineno, solution.body(solved)
        elif isinstance(node, ast.ClassDef) and solved:
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef) and _is_unwritten(m)]
            for method in methods:
                found = solution.named(solved, method.name)
                more = solution.extras(solved, node) if method is methods[-1] else []
                yield method.body[-1].lineno, [*(solution.body(found) if found else []), *more]


def _is_unwritten(node: ast.FunctionDef) -> bool:
    return ast.unparse(node.body[-1]).startswith(STUB)


class ReferenceSolution:
    """The parsed reference solution, from which parts are copied as source lines."""

    def __init__(self, source: str) -> None:
        self.lines, self.tree = source.splitlines(), ast.parse(source)

    def named(self, parent: ast.Module | Named, name: str) -> Named | None:
        """Return the function or class of that name, or None."""
        found = (node for node in parent.body if isinstance(node, Named))
        return next((node for node in found if node.name == name), None)

    def body(self, node: Named) -> list[str]:
        """Return the source lines of a function below its docstring."""
        first, *others = node.body
        start = first.end_lineno if ast.get_docstring(node) and others else first.lineno - 1
        return self.lines[start : node.end_lineno]

    def extras(self, parent: ast.Module | Named, stub: ast.Module | Named) -> list[str]:
        """Return the source of what the stub lacks: functions, classes, imports, constants, decorators."""
        names = {node.name for node in stub.body if isinstance(node, Named)}
        known = {ast.unparse(node) for node in stub.body}
        found: list[str] = []
        for node in parent.body:
            if isinstance(node, Named) and node.name not in names:
                gap = 2 if isinstance(parent, ast.Module) else 1
                found += [*[""] * gap, *self._text(node)]
            elif isinstance(node, Named):
                found += [f"{node.name} = {ast.unparse(by)}({node.name})" for by in node.decorator_list]
            elif isinstance(node, SIMPLE) and ast.unparse(node) not in known:
                found += ["", *self._text(node)]
        return found

    def _text(self, node: ast.stmt) -> list[str]:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return self.lines[first - 1 : node.end_lineno]
