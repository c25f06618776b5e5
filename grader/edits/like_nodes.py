"""Nodes like a given one: another number, operator, reduction or exception, or an index with another axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from grader.edits.addition_tables import AXES, REDUCTIONS
from grader.edits.context import (
    COMPARISONS,
    PARTNERS,
    SMALLEST_SIZE,
    expression,
    name_of,
    statements,
    with_part,
)


def of_call(node: ast.Call) -> Iterator[ast.AST]:
    """Yield `x.add(y)` for `x.add_(y)`, another reduction, and `super().__init__()` for `super()`."""
    name = name_of(node)
    if (
        isinstance(node.func, ast.Attribute)
        and name.endswith("_")
        and name.strip("_")
        and name not in PARTNERS
    ):
        yield with_part(node, "func", with_part(node.func, "attr", name.rstrip("_")))
    if name in REDUCTIONS and isinstance(node.func, ast.Attribute):
        yield from (with_part(node, "func", with_part(node.func, "attr", other)) for other in REDUCTIONS)
    if name == "super":
        yield expression("super().__init__()")


def shifted(node: ast.Call) -> Iterator[ast.AST]:
    """Yield a range that begins and ends one earlier, or one later."""
    if name_of(node) in ("range", "arange") and len(node.args) in (1, 2):
        bounds = node.args if len(node.args) == 2 else [ast.Constant(0), node.args[0]]
        for op in (ast.Sub(), ast.Add()):
            moved: list[ast.expr] = [ast.BinOp(bound, op, ast.Constant(1)) for bound in bounds]
            yield with_part(node, "args", moved)


def of_attribute(node: ast.Attribute) -> Iterator[ast.AST]:
    """Yield one length for a shape, and a swap of the last two axes for `x.T`."""
    if node.attr == "shape":
        yield from (expression(f"{ast.unparse(node)}[{axis}]") for axis in AXES)
    elif node.attr == "T":
        yield expression(f"({ast.unparse(node.value)}).swapaxes(-1, -2)")


def raised(node: ast.AST) -> Iterator[ast.AST]:
    """Yield another exception, or one where a condition has no effect."""
    if isinstance(node, ast.Raise):
        for name in ("ValueError", "TypeError", "IndexError"):
            yield from statements(f"raise {name}")
    elif isinstance(node, ast.If) and all(isinstance(n, ast.Pass) for n in node.body):
        yield with_part(node, "body", statements("raise ValueError"))


def other_number(node: ast.AST) -> Iterator[ast.AST]:
    """Yield numbers further away: half and twice, tenfold, the negative one, two more and two less."""
    value: Any = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and type(value) in (int, float):
        near = [value / 2, value / 10, value * 10, -value, -2, 2, 0, 1, 0.5]
        near += [value + 2, value - 2] if isinstance(value, int) and value < SMALLEST_SIZE else []
        yield from (expression(repr(int(v) if type(value) is int and v == int(v) else v)) for v in near)


def other_operator(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        for op in (ast.Pow, ast.MatMult, ast.Add, ast.Mult, ast.Div):
            if not isinstance(node.op, op):
                yield ast.BinOp(node.left, op(), node.right)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        given = type(node.ops[0])
        for other in COMPARISONS:
            if other not in (given, *COMPARISONS[given]):
                yield ast.Compare(node.left, [other()], node.comparators)


def with_another_axis(node: ast.Subscript) -> Iterator[ast.AST]:
    """Yield the index with one more axis, all of it or a new one."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for at in range(len(items) + 1):
        for item in (ast.Constant(None), ast.Slice()):
            yield with_part(node, "slice", ast.Tuple([*items[:at], item, *items[at:]], ast.Load()))


def negated(bound: ast.expr | None) -> ast.expr | None:
    if bound is None:
        return None
    return bound.operand if isinstance(bound, ast.UnaryOp) else ast.UnaryOp(ast.USub(), bound)
