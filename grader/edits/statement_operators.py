"""Mutation operators for statements: leave one out, negate its condition, swap it with the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

FAMILY = "statements"
SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Assert)


def statement_mutations(body: list[ast.stmt], detaches: bool = False) -> Iterator[list[ast.stmt]]:
    """Yield every body that differs from this one by one mutation."""
    for index, statement in enumerate(body):
        if is_docstring(statement):
            continue
        before, after = body[:index], body[index + 1 :]
        for replacement in _replacements(statement, detaches):
            yield [*before, *replacement, *after] or [ast.Pass()]
        if after and _order_matters(statement, after[0]):
            yield [*before, after[0], statement, *after[1:]]


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _replacements(node: ast.stmt, detaches: bool) -> Iterator[list[ast.stmt]]:
    """Yield the replacements of one statement: nothing, a part of it, or a similar statement."""
    if isinstance(node, (*SIMPLE, ast.For, ast.While, ast.With, ast.If, ast.Break, ast.Continue)):
        yield node.orelse if isinstance(node, ast.If) else []
    if isinstance(node, ast.If):
        yield node.body
        yield [ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]
    elif isinstance(node, ast.With):
        yield node.body
    elif isinstance(node, ast.For):
        yield [ast.For(node.target, node.iter, [*node.body, ast.Break()], node.orelse)]
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield [ast.Raise(ast.Call(ast.Name("RuntimeError"), [], []))]
    elif isinstance(node, ast.AugAssign):
        yield [ast.Assign([node.target], node.value)]
    elif isinstance(node, ast.Assign) and _extends_itself(node):
        yield [ast.AugAssign(node.targets[0], node.value.op, node.value.right)]  # type: ignore[arg-type, attr-defined]
    if detaches and isinstance(node, ast.Assign | ast.Return) and _computes(node.value):
        yield [_detached(node, node.value)]


def _order_matters(first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether one of two simple statements writes a name of the other, or both are calls."""
    if not isinstance(first, SIMPLE) or not isinstance(second, SIMPLE):
        return False
    if isinstance(first, ast.Expr) and isinstance(second, ast.Expr):
        return True
    return bool(_written(first) & _named(second) or _written(second) & _named(first))


def _written(node: ast.AST) -> set[str]:
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored - {"_"}


def _named(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _computes(value: ast.expr | None) -> TypeGuard[ast.expr]:
    """Return whether a gradient may flow through the value: not through new tensors or plain numbers."""
    made = value is None or ast.unparse(value).startswith(("torch.ones", "torch.eye", "torch.arange"))
    return not made and not isinstance(value, ast.Tuple | ast.Attribute | ast.Constant | ast.Subscript)


def _extends_itself(node: ast.Assign) -> bool:
    """Return whether the statement is `x = x + …`, whose variant in place changes an argument."""
    return isinstance(node.value, ast.BinOp) and ast.unparse(node.targets[0]) == ast.unparse(node.value.left)


def _detached(node: ast.Assign | ast.Return, value: ast.expr) -> ast.stmt:
    detached = ast.Call(ast.Attribute(value, "detach"), [], [])
    return ast.Return(detached) if isinstance(node, ast.Return) else ast.Assign(node.targets, detached)
