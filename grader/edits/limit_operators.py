"""Mutation operators for limits of size: one moved by one, or a first element left out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from grader.edits.context import ExpressionContext, name_of, with_part

FAMILY = "limits"
#: A comparison with a bound, and the step of the bound that `<` in place of `<=` does not give.
STEPS: dict[type[ast.cmpop], type[ast.operator]] = {
    **{ast.Gt: ast.Add, ast.LtE: ast.Add, ast.GtE: ast.Sub, ast.Lt: ast.Sub}
}


def moved_by_one(node: ast.Compare, _: ExpressionContext) -> Iterator[ast.AST]:
    """Move the bound of a comparison by one, such as the length from which a check raises."""
    step, bound = STEPS.get(type(node.ops[0])), node.comparators[0]
    if step and len(node.ops) == 1 and not isinstance(bound, ast.Constant):
        yield with_part(node, "comparators", [ast.BinOp(bound, step(), ast.Constant(1))])


def without_the_first(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Leave the first number of a range out."""
    if name_of(node) in ("range", "arange") and len(node.args) == 1:
        yield with_part(node, "args", [ast.Constant(1), *node.args])


def positions_from_one(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Count positions from one."""
    if name_of(node) == "arange" and len(node.args) == 1:
        yield with_part(node, "args", [ast.Constant(1), ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))])


def loop_from_one(node: ast.For | ast.comprehension, _: ExpressionContext) -> Iterator[ast.AST]:
    """Count the steps of a loop from one."""
    call = node.iter
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "range" and ast.unparse(node.target) != "_":
        *first, end = call.args[:2]
        shifted = [first[0] if first else ast.Constant(0), end]
        added = [ast.BinOp(bound, ast.Add(), ast.Constant(1)) for bound in shifted]
        yield with_part(node, "iter", with_part(call, "args", [*added, *call.args[2:]]))


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Compare, moved_by_one),
    (ast.Call, without_the_first),
    (ast.Call, positions_from_one),
    (ast.For, loop_from_one),
    (ast.comprehension, loop_from_one),
]
BODIES = ()
