"""The shape of a source: a digest of its syntax tree without names, comments, layout and stub code.

Two files have the same shape if their tokens are equal after renaming. Names are numbered in the order in
which they first appear, so `a = q - k` and `a = k - q` differ if `q` and `k` were used before.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Any


class _Renamed(ast.NodeTransformer):
    """Replace every name that the file itself binds by a number."""

    def __init__(self, own: frozenset[str]) -> None:
        self.own = own
        self.numbers: dict[str, str] = {}

    def visit(self, node: ast.AST) -> Any:
        for part in ("id", "name", "arg", "asname"):
            name = getattr(node, part, None)
            if isinstance(name, str) and name in self.own:
                setattr(node, part, self.numbers.setdefault(name, f"n{len(self.numbers)}"))
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


def shape(tree: ast.Module, stub: ast.Module) -> tuple[str, int]:
    """Return the digest of a source's shape and its number of tokens, without what the stub holds. The digest
    is empty if the source contains nothing beyond the stub. Changes the tree."""
    given = {ast.dump(node) for node in stub.body}
    tree.body = [node for node in tree.body if ast.dump(node) not in given and not _is_import(node)]
    renamed = _Renamed(_bound(tree)).visit(tree)
    text = ast.dump(renamed)
    tokens = sum(isinstance(node, ast.expr | ast.stmt | ast.operator) for node in ast.walk(renamed))
    return (hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if tokens else ""), tokens


def code_digest(tree: ast.Module) -> str:
    """Return a digest of the code of a source: of its syntax tree without docstrings and other constants that
    stand alone, so that comments, layout and a corrected statement make no difference."""
    found = hashlib.sha256()
    left: list[Any] = [tree]  # a stack of its own: a tree may be deep
    while left:
        node = left.pop()
        if isinstance(node, ast.AST):
            parts = [getattr(node, name, None) for name in node._fields]
        elif isinstance(node, list):
            parts = [one for one in node if not (isinstance(one, ast.Expr) and _is_docstring(one))]
        else:  # Python writes no integer of more than 4,300 decimal digits
            found.update(f" {hex(node) if type(node) is int else node!r}".encode("utf-8", "replace"))
            continue
        found.update(f" {type(node).__name__} {len(parts)}".encode())
        left += reversed(parts)
    return found.hexdigest()


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def text_digest(source: str) -> str:
    """Return a short digest of a source text that ignores differences in whitespace."""
    return hashlib.sha256("\n".join(source.split()).encode()).hexdigest()[:12]
