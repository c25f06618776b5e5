"""Mutation operators for state: keep a value of an earlier call that should be computed at each call.

Such mutants fail only in a second call, or after a module is moved to another dtype or device.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import TypeGuard

from grader.diagnosis.edits.context import (
    ExpressionContext,
    each,
    expression,
    name_of,
    names_in,
    statements,
    with_part,
)

#: Functions that make a table or a mask from sizes.
MAKERS = {"arange", "tri", "ones", "zeros", "eye", "empty", "full", "full_like"}
TABLE_SIZE = 1024  # of a table made in `__init__` if there is no `max_len`


def kept_forever(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the table of the first call for all later calls."""
    if around.where and name_of(node) in MAKERS:
        yield _kept(node, around)


def length_kept_forever(node: ast.Assign, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the length of the first call."""
    if around.method not in ("", "__init__") and _is_length(node.value):
        yield with_part(node, "value", _kept(node.value, around))


def root_kept_forever(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the root of a width from the first call, except in modules, which have one width."""
    if ast.unparse(node.func) == "math.sqrt" and around.method not in ("", "__init__"):
        yield _kept(node)


def kept_by_size(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Cache a table by its size for all modules, ignoring dtype and device."""
    if around.where and name_of(node) in MAKERS and any(map(_follows_an_argument, node.keywords)):
        yield _kept(node, by=ast.unparse(ast.Tuple(node.args, ast.Load())))


def kept_by_shape(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Cache a result of `astype` or `to` by its shape, ignoring its dtype."""
    if name_of(node) in ("astype", "to") and ast.unparse(node.args[0]).endswith(".dtype"):
        yield _kept(node, around, by=f"{ast.unparse(node)}.shape")


def mask_kept_by_shape(node: ast.Assign | ast.Return, around: ExpressionContext) -> Iterator[ast.AST]:
    """Yield a mask that is computed once for each shape, though it depends on the values of an argument."""
    if isinstance(node.value, ast.Compare) and getattr(node.value.left, "id", "") in around.parameters:
        yield with_part(node, "value", _kept(node.value, around, by=f"({ast.unparse(node.value)}).shape"))


def not_registered(node: ast.Expr, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a buffer by a plain attribute, which `to()` does not move, or by a parameter."""
    call = node.value
    if isinstance(call, ast.Call) and name_of(call) == "register_buffer":
        name, table = ast.literal_eval(call.args[0]), ast.unparse(call.args[1])
        yield from statements(f"self.{name} = {table}")
        yield from statements(f"self.{name} = nn.Parameter({table})")


def buffer_in_a_dict(node: ast.ClassDef, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a buffer by an entry of a dict, which `to()` does not move."""
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call) and name_of(n) == "register_buffer"):
        name, table = ast.literal_eval(call.args[0]), ast.unparse(call.args[1])
        (entry,) = statements(f"self.tables = {{{name!r}: {table}}}")
        yield _NodeReplacer(
            {ast.unparse(call): entry, f"self.{name}": expression(f"self.tables[{name!r}]")}
        ).of(node)


def modules_in_a_list(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a ModuleList by a plain list, whose parameters are not registered."""
    if around.in_module and name_of(node) == "ModuleList":
        yield with_part(node, "func", ast.Name("list"))


def made_in_advance(node: ast.ClassDef, around: ExpressionContext) -> Iterator[ast.AST]:
    """Make a table in `__init__`, without the input's dtype and device, and cut it in `forward`."""
    start = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
    if start is None or not around.in_module:
        return
    size = "max_len" if "max_len" in {arg.arg for arg in start.args.args} else str(TABLE_SIZE)
    for method in (f for f in node.body if isinstance(f, ast.FunctionDef) and f is not start):
        for assign in (n for n in method.body if isinstance(n, ast.Assign)):
            table, cut = _made_with_size(assign.value, size)
            if table:
                shorter = with_part(assign, "value", expression(f"self.kept[{cut}]"))
                yield _with_statement_in_init(node, f"self.kept = {table}", {ast.unparse(assign): shorter})


def shared_by_instances(node: ast.ClassDef, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace an attribute of the instance by one of the class."""
    if around.in_module:
        return
    stored = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    for name in dict.fromkeys(ast.unparse(n) for n in stored):
        shared = expression(name.replace("self.", f"{node.name}."))
        yield _NodeReplacer({name: shared}).of(node)


def one_buffer(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Write each result into one array that all calls return."""
    for before, statement, after in each(body):
        if around.is_entry and isinstance(statement, ast.Return) and _makes_an_array(statement.value, body):
            kept = _kept(ast.Name("result"), around, by="(result.shape, result.dtype)")
            refill = f"result = {ast.unparse(statement.value)}\nkept = {ast.unparse(kept)}"
            yield [*before, *statements(f"{refill}\nkept[...] = result\nreturn kept"), *after]


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Call, kept_forever),
    (ast.Call, root_kept_forever),
    (ast.Call, kept_by_size),
    (ast.Call, kept_by_shape),
    (ast.Call, modules_in_a_list),
    (ast.Assign, length_kept_forever),
    (ast.Assign, mask_kept_by_shape),
    (ast.Return, mask_kept_by_shape),
    (ast.Expr, not_registered),
    (ast.ClassDef, buffer_in_a_dict),
    (ast.ClassDef, made_in_advance),
    (ast.ClassDef, shared_by_instances),
]
BODIES = (one_buffer,)


def _kept(value: ast.expr, around: ExpressionContext | None = None, by: str = "") -> ast.expr:
    """Return an expression for the value of the first call (per key), kept in the module or in the file."""
    cache = "vars(self)" if around and around.runs_in_a_mode else "globals()"
    key = f"repr({by})" if by else "'kept'"
    return expression(f"{cache}.setdefault({key}, {ast.unparse(value)})")


def _is_length(value: ast.expr) -> bool:
    """Return whether the value is `x.shape`, an entry of it, `len(x)`, or a tuple of these."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_length, value.elts))
    return bool(re.fullmatch(r"len\(\w+\)|\w+\.shape(\[[^]]*\])?", ast.unparse(value)))


def _follows_an_argument(keyword: ast.keyword) -> bool:
    return isinstance(keyword.value, ast.Attribute) and keyword.value.attr in ("dtype", "device")


def _made_with_size(value: ast.expr, size: str) -> tuple[str, str]:
    """Return the source of a table of that size and of the slice to use; empty if it needs other values."""
    makers = [n for n in ast.walk(value) if isinstance(n, ast.Call) and name_of(n) in MAKERS]
    lengths = {ast.unparse(arg) for call in makers for arg in call.args}
    if len(makers) != 1 or len(lengths) != 1:
        return "", ""
    maker = makers[0]
    plain = [keyword for keyword in maker.keywords if not _follows_an_argument(keyword)]
    made = ast.Call(maker.func, [expression(size)] * len(maker.args), plain)
    text = ast.unparse(value).replace(ast.unparse(maker), ast.unparse(made))
    axes = 2 if name_of(maker) == "eye" else len(maker.args)
    cut = ", ".join(f":{length}" for length in list(lengths) * axes)
    return (text, cut) if names_in(expression(text)) <= {"torch", size} else ("", "")


def _with_statement_in_init(node: ast.ClassDef, statement: str, others: dict[str, ast.AST]) -> ast.AST:
    """Return the class with one more statement in `__init__` and with some nodes replaced."""
    changed = _NodeReplacer(others).of(node)
    for method in ast.iter_child_nodes(changed):
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            method.body += statements(statement)
    return changed


def _makes_an_array(value: ast.expr | None, body: list[ast.stmt]) -> TypeGuard[ast.expr]:
    made = [n for n in body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    names = {target.id for n in made for target in n.targets if isinstance(target, ast.Name)}
    return isinstance(value, ast.BinOp | ast.Call | ast.Compare) or getattr(value, "id", "") in names


class _NodeReplacer(ast.NodeTransformer):
    """Replaces nodes, identified by their source, in a copy of a tree."""

    def __init__(self, others: dict[str, ast.AST]) -> None:
        self._others = others

    def of(self, node: ast.AST) -> ast.AST:
        return ast.fix_missing_locations(self.visit(copy.deepcopy(node)))

    def visit(self, node: ast.AST) -> ast.AST:
        other = self._others.get(ast.unparse(node)) if isinstance(node, ast.expr | ast.stmt) else None
        return copy.deepcopy(other) if other is not None else self.generic_visit(node)
