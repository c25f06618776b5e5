"""Mutation operators for limits of size: one moved by one, a first element left out, a limit introduced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from grader.diagnosis.edits.buffer_operators import cut, is_a_table, sizes
from grader.diagnosis.edits.context import ExpressionContext, expression, name_of, with_part
from grader.diagnosis.edits.operator_tables import TABLE_SIZE

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


def starting_at_one(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Leave the first number of a range out, or count from one."""
    if name_of(node) in ("range", "arange") and len(node.args) == 1:
        one, end = ast.Constant(1), node.args[0]
        yield with_part(node, "args", [one, end])
        yield with_part(node, "args", [one, ast.BinOp(end, ast.Add(), one)])


def loop_with_a_limit(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """End a loop after a fixed number of steps."""
    if name_of(node) == "range" and not isinstance(node.args[-1], ast.Constant):
        limit = expression(f"min({ast.unparse(node.args[-1])}, {TABLE_SIZE})")
        yield with_part(node, "args", [*node.args[:-1], limit])


def table_with_a_limit(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Make a table of a fixed size, and cut it."""
    if around.where and is_a_table(node) and not isinstance(sizes(node)[0], ast.Constant):
        largest: list[ast.expr] = [ast.Constant(TABLE_SIZE)] * len(sizes(node))
        is_tuple = isinstance(node.args[0], ast.Tuple)
        yield cut(node, with_part(node, "args", [ast.Tuple(largest, ast.Load())] if is_tuple else largest))


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Compare, moved_by_one),
    (ast.Call, starting_at_one),
    (ast.Call, loop_with_a_limit),
    (ast.Call, table_with_a_limit),
]
BODIES = ()
