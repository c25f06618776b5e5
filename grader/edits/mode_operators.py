"""Mutation operators for the mode of a module: a step that runs only in training or in evaluation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from grader.edits.context import ExpressionContext, expression, name_of, with_part

FAMILY = "modes"
#: Calls that mask positions.
MASKING = {"masked_fill", "tril", "triu"}
MODES = "self.training", "not self.training"


def masked_in_one_mode(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Apply a mask in only one mode."""
    if around.runs_in_a_mode and name_of(node) in MASKING and isinstance(node.func, ast.Attribute):
        yield from _in_one_mode(node, node.func.value)


def sublayer_in_one_mode(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Call a normalization in only one mode, and dropout only in evaluation."""
    called = ast.unparse(node.func)
    if around.runs_in_a_mode and called.startswith("self.") and len(node.args) == 1:
        if called == "self.dropout":
            yield expression(f"{ast.unparse(node.args[0])} if self.training else {ast.unparse(node)}")
        elif name_of(node).startswith(("norm", "ln")):
            yield from _in_one_mode(node, node.args[0])


def added_in_one_mode(node: ast.BinOp, around: ExpressionContext) -> Iterator[ast.AST]:
    """Add a sublayer or a table in only one mode."""
    if around.runs_in_a_mode and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Name):
        yield from _in_one_mode(node, node.left)


def checked_in_one_mode(node: ast.If, around: ExpressionContext) -> Iterator[ast.AST]:
    """Test a condition in only one mode."""
    if around.runs_in_a_mode:
        for mode in MODES:
            yield with_part(node, "test", expression(f"({ast.unparse(node.test)}) and {mode}"))


def mode_not_restored(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Set a fixed mode after the call instead of restoring the earlier one."""
    if name_of(node) == "train" and node.args and isinstance(node.func, ast.Attribute):
        yield with_part(node, "args", [])
        yield ast.Call(ast.Attribute(node.func.value, "eval", ast.Load()), [], [])


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Call, masked_in_one_mode),
    (ast.Call, sublayer_in_one_mode),
    (ast.Call, mode_not_restored),
    (ast.BinOp, added_in_one_mode),
    (ast.If, checked_in_one_mode),
]
BODIES = ()


def _in_one_mode(node: ast.expr, otherwise: ast.expr) -> Iterator[ast.AST]:
    for mode in MODES:
        yield expression(f"{ast.unparse(node)} if {mode} else {ast.unparse(otherwise)}")
