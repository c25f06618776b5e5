"""Where names are bound at the top of a source, what it imports, and where its docstrings are."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator


def bound(tree: ast.Module, source: str, names: Container[str]) -> dict[str, tuple[int, int, int]]:
    """Return where these names are bound at the top of a source, the last time each: the line, and its
    columns from the first to the one after the last, all counted from 0."""
    lines, found = source.split("\n"), {}
    bindings = ((node.lineno, name) for node in tree.body for name in _bound_by(node) if name in names)
    for number, name in dict.fromkeys(bindings):  # a line may bind a name thousands of times
        line = lines[number - 1] if number <= len(lines) else ""
        if at := re.search(rf"\b{re.escape(name)}\b", line):
            found[name] = number - 1, at.start(), at.end()
    return found


def defined(tree: ast.Module) -> list[str]:
    """Return the names of the functions and classes at the top of a source."""
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def imported(tree: ast.Module) -> Iterator[tuple[int, list[str]]]:
    """Yield the names of the modules that each import may mean, with the number of dots before them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield 0, [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.level, [module, *(f"{module}.{alias.name}".strip(".") for alias in node.names)]


def documented(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            yield node.body[0].lineno, node.body[0].end_lineno or node.body[0].lineno


def _bound_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]
