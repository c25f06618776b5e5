"""Mutation operators for the order of calls, and for operations in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from grader.edits.context import (
    ExpressionContext,
    each,
    expression,
    name_of,
    names_in,
    statements,
    with_part,
)

FAMILY = "order"
#: Methods of PyTorch that have a variant in place, such as `add_`.
IN_PLACE = {"masked_fill", "scatter", "clamp", "clip", "sub", "div", "mul", "add"}
OPERATORS_IN_PLACE = {ast.Sub: "-=", ast.Add: "+="}  # without `*=`, since a factor is often a plain number


def done_last(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Move a call behind all others, such as `zero_grad` behind `step`."""
    if around.method == "__init__":
        return  # the order of attributes does not matter
    for before, statement, after in each(body):
        ending = after[-1:] if after and isinstance(after[-1], ast.Return) else []
        between = after[: len(after) - len(ending)]
        if _is_call(statement) and len(between) > 1:
            yield [*before, *between, statement, *ending]


def done_once(body: list[ast.stmt], _: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Move a call from the body of a loop to the line before it."""
    for before, loop, after in each(body):
        if not isinstance(loop, ast.For):
            continue
        bound = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for first, statement, rest in each(loop.body):
            if _is_call(statement) and not names_in(statement) & bound:
                yield [*before, statement, with_part(loop, "body", [*first, *rest]), *after]


def changed_in_place(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Change an argument in place instead of making a new tensor."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in IN_PLACE or not around.is_entry:
        return
    if getattr(func.value, "id", "") in around.parameters:
        yield with_part(node, "func", with_part(func, "attr", f"{func.attr}_"))


def computed_in_an_argument(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Change an argument in place where the reference computes a new value from it."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) and around.is_entry:
            value, sign = statement.value, OPERATORS_IN_PLACE.get(type(statement.value.op))
            argument = getattr(value.left, "id", "")
            target = ast.unparse(statement.targets[0])
            if sign and argument in around.parameters and target != argument:
                change = f"{argument} {sign} {ast.unparse(value.right)}"
                yield [*before, *statements(f"{change}\n{target} = {argument}"), *after]


def all_axes_reversed(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a swap of two axes by `.T`, which reverses all axes."""
    if name_of(node) in ("transpose", "swapaxes") and isinstance(node.func, ast.Attribute):
        array = node.args[0] if ast.unparse(node.func.value) == "np" else node.func.value
        yield expression(f"({ast.unparse(array)}).T")


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Call, changed_in_place),
    (ast.Call, all_axes_reversed),
]
BODIES = (done_last, done_once, computed_in_an_argument)


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
