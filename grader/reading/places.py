"""Where names are bound at the top of a source."""

from __future__ import annotations

import ast
import re
from collections.abc import Container


def bound(tree: ast.Module, source: str, names: Container[str]) -> dict[str, tuple[int, int, int]]:
    """Return where these names are bound at the top of a source, the last time each: the line, and its
    columns from the first to the one after the last, all counted from 0."""
    lines, found = source.split("\n"), {}
    for node in tree.body:
        for name in _bound_by(node):
            line = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
            if name in names and (at := re.search(rf"\b{re.escape(name)}\b", line)):
                found[name] = node.lineno - 1, at.start(), at.end()
    return found


def _bound_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]
