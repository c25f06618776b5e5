"""The code of a kata's cell: as it is handed out, and with the reference between nbgrader's markers.

nbgrader cuts from marker to marker, whatever stands between, and puts a `raise NotImplementedError` in
its place. So what the reference has beyond the stub, methods and functions of its own, stands there too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "raise NotImplementedError"

Named = ast.FunctionDef | ast.ClassDef
SIMPLE = ast.Import | ast.ImportFrom | ast.Assign


def handed_out(stub: str) -> str:
    """The stub without the docstring that is its statement."""
    statement = ast.parse(stub).body[0]
    return "\n".join(stub.splitlines()[statement.end_lineno :]).strip("\n")


def solved(code: str, reference: str) -> str:
    """The handed-out code, each `raise NotImplementedError` replaced by what the reference does there."""
    tree, answer = ast.parse(code), CellAnswer(reference)
    lines = code.splitlines()
    filled = dict(_fillings(tree, answer))
    if not filled:
        return code
    filled[max(filled)] += answer.extras(answer.tree, tree)
    for number in sorted(filled, reverse=True):
        indent = lines[number - 1].partition(STUB)[0]
        lines[number - 1 : number] = [indent + BEGIN, *filled[number], indent + END]
    return "\n".join(lines)


def _fillings(tree: ast.Module, answer: CellAnswer) -> Iterator[tuple[int, list[str]]]:
    """The line of each gap of the stub, and what belongs there."""
    for node in tree.body:
        theirs = answer.named(answer.tree, getattr(node, "name", ""))
        if isinstance(node, ast.FunctionDef) and _is_gap(node) and theirs:
            yield node.body[-1].lineno, answer.body(theirs)
        elif isinstance(node, ast.ClassDef) and theirs:
            gaps = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and _is_gap(inner)]
            for method in gaps:
                found = answer.named(theirs, method.name)
                more = answer.extras(theirs, node) if method is gaps[-1] else []
                yield method.body[-1].lineno, [*(answer.body(found) if found else []), *more]


def _is_gap(node: ast.FunctionDef) -> bool:
    return ast.unparse(node.body[-1]).startswith(STUB)


class CellAnswer:
    """The reference, and what it has that a stub lacks."""

    def __init__(self, source: str) -> None:
        self.lines, self.tree = source.splitlines(), ast.parse(source)

    def named(self, parent: ast.Module | Named, name: str) -> Named | None:
        """The function or class called so."""
        found = (node for node in parent.body if isinstance(node, Named))
        return next((node for node in found if node.name == name), None)

    def body(self, node: Named) -> list[str]:
        """The lines of a function below its docstring."""
        first, *others = node.body
        start = first.end_lineno if ast.get_docstring(node) and others else first.lineno - 1
        return self.lines[start : node.end_lineno]

    def extras(self, parent: ast.Module | Named, stub: ast.Module | Named) -> list[str]:
        """Functions, methods, classes, imports, constants and decorators that the stub does not have."""
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
