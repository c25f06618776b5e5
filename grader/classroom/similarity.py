"""The shape of a source: a digest of its syntax tree without names, comments, layout and stub code.

Two files have the same shape if their tokens are equal after renaming. Names are numbered in the order in
which they first appear, so `a = q - k` and `a = k - q` differ if `q` and `k` were used before.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from typing import Any

#: Shorter files are not compared: there are few ways to write five lines.
FEWEST_TOKENS = 60


class _Renamed(ast.NodeTransformer):
    """Replace every name that the file itself binds by a number."""

    def __init__(self, own: frozenset[str]) -> None:
        self.own = own
        self.numbers: dict[str, str] = {}

    def visit(self, node: ast.AST) -> Any:
        for field in ("id", "name", "arg", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name in self.own:
                setattr(node, field, self.numbers.setdefault(name, f"n{len(self.numbers)}"))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self.numbers.get(name, name) for name in node.names]
        _strip(node)
        return super().generic_visit(node)


def _strip(node: ast.AST) -> None:
    """Remove docstrings and annotations, which do not affect the computation."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns = None
    if isinstance(node, ast.arg):
        node.annotation = None
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = [inner for inner in node.body if not _is_docstring(inner)]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _bound(tree: ast.Module) -> frozenset[str]:
    """Return the names that the file binds: parameters, variables, functions, classes."""
    bound: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            bound.add(node.name)
    return frozenset(name for name in bound if name)


@lru_cache
def _stub_statements(stub: str) -> frozenset[str]:
    """Return the statements of a stub, each as text."""
    return frozenset(map(ast.dump, ast.parse(stub).body))


def shape(source: str, stub: str = "") -> tuple[str, int]:
    """Return the digest of the source's shape and its number of tokens.

    The digest is empty if the source cannot be parsed or contains nothing beyond the stub.
    """
    try:
        tree, given = ast.parse(source), _stub_statements(stub)
        tree.body = [node for node in tree.body if ast.dump(node) not in given and not _is_import(node)]
        renamed = _Renamed(_bound(tree)).visit(tree)
        text = ast.dump(renamed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", 0
    tokens = sum(isinstance(node, ast.expr | ast.stmt | ast.operator) for node in ast.walk(renamed))
    return (hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if tokens else ""), tokens


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)
