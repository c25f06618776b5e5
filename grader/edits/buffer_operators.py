"""Mutation operators for buffers: a table, a mask or a result that is kept and used again by later calls.

Such mutants fail only in a second call, of another size, dtype or device, or whose result is still held.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from grader.edits.context import (
    ExpressionContext,
    NodeReplacer,
    each,
    expression,
    name_of,
    statements,
    with_part,
)

FAMILY = "buffers"
#: Functions that make a table or a mask from sizes.
MAKERS = {"arange", "tri", "ones", "zeros", "eye", "empty", "full", "full_like"}
#: Functions that make an array to write into.
SCRATCH = {"zeros", "empty", "full", "new_zeros", "new_empty", "new_full"}
LIKE = ("zeros_like", "empty_like", "full_like")
EMPTY = {"[]", "{}", "set()"}


def kept_forever(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the table of the first call for all later calls."""
    if around.where and name_of(node) in MAKERS:
        yield kept(node, around)


def kept_and_cut(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the table of the first call, and cut it for smaller ones."""
    if around.where and is_a_table(node):
        yield cut(node, kept(node, around))


def kept_while_large_enough(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the table of the first call for all sizes up to its own, ignoring dtype and device."""
    if around.where and is_a_table(node) and any(map(follows_an_argument, node.keywords)):
        largest = expression(f"max({ast.unparse(kept(node, around))}, {ast.unparse(node)}, key=len)")
        yield cut(node, largest)


def kept_by_size(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Cache a table by its size for all modules, ignoring dtype and device."""
    if around.where and name_of(node) in MAKERS and any(map(follows_an_argument, node.keywords)):
        yield kept(node, by=ast.unparse(ast.Tuple(node.args, ast.Load())))


def kept_by_shape(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Cache a result of `astype` or `to` by its shape, ignoring its dtype."""
    if name_of(node) in ("astype", "to") and ast.unparse(node.args[0]).endswith(".dtype"):
        yield kept(node, around, by=f"{ast.unparse(node)}.shape")


def mask_kept_by_shape(node: ast.Assign | ast.Return, around: ExpressionContext) -> Iterator[ast.AST]:
    """Yield a mask that is computed once for each shape, though it depends on the values of an argument."""
    value = node.value
    is_compared = isinstance(value, ast.Compare) and getattr(value.left, "id", "") in around.parameters
    if value and (is_compared or _joins_masks(value)):
        yield with_part(node, "value", _by_shape(value, around))


def filled_mask_kept_by_shape(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Compute the mask of `masked_fill` or `where` once for each shape."""
    if name_of(node) in ("masked_fill", "where") and isinstance(node.args[0], ast.Compare | ast.BinOp):
        yield with_part(node, "args", [_by_shape(node.args[0], around), *node.args[1:]])


def default_that_collects(node: ast.FunctionDef, _: ExpressionContext) -> Iterator[ast.AST]:
    """Make an empty list, dict or set the default of an argument, which all calls share."""
    for assign in (n for n in ast.walk(node) if isinstance(n, ast.Assign)):
        if ast.unparse(assign.value) in EMPTY and isinstance(assign.targets[0], ast.Name):
            changed: Any = NodeReplacer({ast.unparse(assign): ast.Pass()}).of(node)
            changed.args.kwonlyargs.append(ast.arg(assign.targets[0].id))
            changed.args.kw_defaults.append(assign.value)
            yield changed


def table_kept_by_arguments(node: ast.FunctionDef, around: ExpressionContext) -> Iterator[ast.AST]:
    """Return one table for all calls with the same numbers."""
    inner = list(ast.walk(node))
    arrays = {ast.unparse(n.value) for n in inner if isinstance(n, ast.Attribute | ast.Subscript)}
    makes_a_table = any(isinstance(n, ast.Call) and name_of(n) in MAKERS for n in inner)
    takes_numbers = around.parameters and not around.parameters & arrays
    if around.is_entry and takes_numbers and makes_a_table and not around.in_module:
        yield with_part(node, "decorator_list", [expression("__import__('functools').cache")])


def one_buffer(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Write each result into one array that all calls return."""
    for before, statement, after in each(body):
        if around.is_entry and isinstance(statement, ast.Return) and _makes_an_array(statement.value, body):
            buffer = kept(ast.Name("result"), around, by="(result.shape, result.dtype)")
            refill = f"result = {ast.unparse(statement.value)}\nkept = {ast.unparse(buffer)}"
            yield [*before, *statements(f"{refill}\nkept[...] = result\nreturn kept"), *after]


def scratch_kept(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Write into an array of an earlier call, without clearing it."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.Assign) and around.where and _is_written(statement, after):
            made = ast.unparse(statement.value)
            array = kept(statement.value, around, by=f"(({made}).shape, ({made}).dtype)")
            yield [*before, with_part(statement, "value", array), *after]


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Call, kept_forever),
    (ast.Call, kept_and_cut),
    (ast.Call, kept_while_large_enough),
    (ast.Call, kept_by_size),
    (ast.Call, kept_by_shape),
    (ast.Call, filled_mask_kept_by_shape),
    (ast.Assign, mask_kept_by_shape),
    (ast.Return, mask_kept_by_shape),
    (ast.FunctionDef, default_that_collects),
    (ast.FunctionDef, table_kept_by_arguments),
]
BODIES = (one_buffer, scratch_kept)


def kept(value: ast.expr, around: ExpressionContext | None = None, by: str = "") -> ast.expr:
    """Return an expression for the value of the first call (per key), kept in the module or in the file."""
    cache = "vars(self)" if around and around.runs_in_a_mode else "globals()"
    key = f"repr({by})" if by else "'kept'"
    return expression(f"{cache}.setdefault({key}, {ast.unparse(value)})")


def follows_an_argument(keyword: ast.keyword) -> bool:
    return isinstance(keyword.value, ast.Attribute) and keyword.value.attr in ("dtype", "device")


def is_a_table(node: ast.Call) -> bool:
    """Return whether the call makes a table or a mask whose arguments are its sizes."""
    is_range = name_of(node) == "arange" and len(node.args) > 1
    return name_of(node) in MAKERS - {"full", "full_like"} and bool(node.args) and not is_range


def sizes(node: ast.Call) -> list[ast.expr]:
    """Return the sizes with which a call makes a table."""
    return node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args


def cut(node: ast.Call, table: ast.expr) -> ast.expr:
    """Return an expression that cuts the table to the sizes with which the call makes one."""
    is_square = name_of(node) in ("eye", "tri") and len(node.args) == 1
    axes = sizes(node) * 2 if is_square else sizes(node)
    return expression(f"{ast.unparse(table)}[{', '.join(f':{ast.unparse(size)}' for size in axes)}]")


def _by_shape(mask: ast.expr, around: ExpressionContext) -> ast.expr:
    return kept(mask, around, by=f"({ast.unparse(mask)}).shape")


def _joins_masks(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitAnd | ast.BitOr)


def _makes_an_array(value: ast.expr | None, body: list[ast.stmt]) -> TypeGuard[ast.expr]:
    made = [n for n in body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    names = {target.id for n in made for target in n.targets if isinstance(target, ast.Name)}
    return isinstance(value, ast.BinOp | ast.Call | ast.Compare) or getattr(value, "id", "") in names


def _is_written(made: ast.Assign, after: list[ast.stmt]) -> bool:
    """Return whether later statements write into the array that the statement makes."""
    call, name = made.value, ast.unparse(made.targets[0])
    if not isinstance(call, ast.Call) or name_of(call) not in (*SCRATCH, *LIKE):
        return False
    written = [n for statement in after for n in ast.walk(statement) if isinstance(n, ast.Subscript)]
    return any(isinstance(n.ctx, ast.Store) and ast.unparse(n.value) == name for n in written)
