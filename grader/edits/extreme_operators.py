"""Mutation operators for numerical stability: powers that overflow or underflow."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from grader.edits.context import (
    ExpressionContext,
    expression,
    is_maximum,
    name_of,
    names_in,
    with_part,
)

FAMILY = "extremes"
BOUNDS = "-50, 50"
LARGE = "-10000.0"
#: Spellings of minus infinity.
INFINITIES = {"-np.inf", "-math.inf", "-torch.inf", "float('-inf')"}


def maximum_of_a_softmax(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace the maximum in a softmax by that of the whole array, or by the mean."""
    if not is_maximum(node) or not around.takes_powers:
        return
    scores, along = _scores_and_axis(node)
    yield expression(f"{ast.unparse(scores)}.max()")
    yield expression(f"{ast.unparse(scores)}.mean({along})")


def no_maximum(node: ast.Assign, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace the maximum of a softmax by 0."""
    if around.takes_powers and is_maximum(node.value):
        yield with_part(node, "value", ast.Constant(0))


def clipped_scores(node: ast.BinOp, around: ExpressionContext) -> Iterator[ast.AST]:
    """Clip the scores instead of subtracting their maximum."""
    if isinstance(node.op, ast.Sub) and (is_maximum(node.right) or names_in(node.right) & around.maxima):
        yield expression(f"({ast.unparse(node.left)}).clip({BOUNDS})")


def plain_softmax(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a softmax by one that clips its scores, or by one without a maximum."""
    if name_of(node) == "softmax" and isinstance(node.func, ast.Attribute) and node.keywords:
        scores = f"({ast.unparse(node.func.value)})"
        yield expression(f"{scores}.clip({BOUNDS}).softmax(dim=-1)")
        yield expression(f"{scores}.exp() / {scores}.exp().sum(dim=-1, keepdim=True)")


def large_for_infinite(node: ast.expr, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace minus infinity, or the minimum of a dtype, by a large negative number."""
    text = ast.unparse(node)
    if text in INFINITIES or (text.startswith("np.finfo(") and text.endswith(".min")):
        yield expression(LARGE)


def multiplied_probabilities(node: ast.BinOp, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a sum of logarithms by the logarithm of a product."""
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    if isinstance(node.op, ast.Sub) and left.startswith("log_"):
        yield expression(f"-np.log(np.exp({right}) / np.exp({left}))")
    elif isinstance(node.op, ast.Add) and isinstance(node.left, ast.Name) and node.left.id == "total":
        yield expression(f"(torch.tensor({left}).exp() * torch.tensor({right}).exp()).log().item()")


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Call, maximum_of_a_softmax),
    (ast.Assign, no_maximum),
    (ast.BinOp, clipped_scores),
    (ast.Call, plain_softmax),
    (ast.Call, large_for_infinite),
    (ast.UnaryOp, large_for_infinite),
    (ast.Attribute, large_for_infinite),
    (ast.BinOp, multiplied_probabilities),
]
BODIES = ()


def _scores_and_axis(node: ast.Call) -> tuple[ast.expr, str]:
    """Return the array of a maximum and its axis arguments as source."""
    kept = [keyword for keyword in node.keywords if keyword.arg not in ("where", "initial")]
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    if ast.unparse(receiver) == "np":
        return node.args[0], ", ".join(map(ast.unparse, kept))
    return receiver, ", ".join(map(ast.unparse, [*node.args, *kept]))
