"""Mutation operators for state: a length or a root that is kept, a buffer or a module that is not registered.

Such mutants fail only in a second call, or after a module is moved to another dtype or device.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from grader.edits.buffer_operators import MAKERS, follows_an_argument, kept
from grader.edits.context import (
    ExpressionContext,
    NodeReplacer,
    expression,
    name_of,
    names_in,
    statements,
    with_part,
)

FAMILY = "state"
TABLE_SIZE = 1024  # of a table made in `__init__` if there is no `max_len`


def length_kept_forever(node: ast.Assign, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the length of the first call."""
    if around.method not in ("", "__init__") and _is_length(node.value):
        yield with_part(node, "value", kept(node.value, around))


def root_kept_forever(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the root of a width from the first call, except in modules, which have one width."""
    if ast.unparse(node.func) == "math.sqrt" and around.method not in ("", "__init__"):
        yield kept(node)


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
        yield NodeReplacer(
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
        yield NodeReplacer({name: shared}).of(node)


EXPRESSIONS: list[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Call, root_kept_forever),
    (ast.Call, modules_in_a_list),
    (ast.Assign, length_kept_forever),
    (ast.Expr, not_registered),
    (ast.ClassDef, buffer_in_a_dict),
    (ast.ClassDef, made_in_advance),
    (ast.ClassDef, shared_by_instances),
]
BODIES = ()


def _is_length(value: ast.expr) -> bool:
    """Return whether the value is `x.shape`, an entry of it, `len(x)`, or a tuple of these."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_length, value.elts))
    return bool(re.fullmatch(r"len\(\w+\)|\w+\.shape(\[[^]]*\])?", ast.unparse(value)))


def _made_with_size(value: ast.expr, size: str) -> tuple[str, str]:
    """Return the source of a table of that size and of the slice to use; empty if it needs other values."""
    makers = [n for n in ast.walk(value) if isinstance(n, ast.Call) and name_of(n) in MAKERS]
    lengths = {ast.unparse(arg) for call in makers for arg in call.args}
    if len(makers) != 1 or len(lengths) != 1:
        return "", ""
    maker = makers[0]
    plain = [keyword for keyword in maker.keywords if not follows_an_argument(keyword)]
    made = ast.Call(maker.func, [expression(size)] * len(maker.args), plain)
    text = ast.unparse(value).replace(ast.unparse(maker), ast.unparse(made))
    axes = 2 if name_of(maker) == "eye" else len(maker.args)
    cut = ", ".join(f":{length}" for length in list(lengths) * axes)
    return (text, cut) if names_in(expression(text)) <= {"torch", size} else ("", "")


def _with_statement_in_init(node: ast.ClassDef, statement: str, others: dict[str, ast.AST]) -> ast.AST:
    """Return the class with one more statement in `__init__` and with some nodes replaced."""
    changed = NodeReplacer(others).of(node)
    for method in ast.iter_child_nodes(changed):
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            method.body += statements(statement)
    return changed
