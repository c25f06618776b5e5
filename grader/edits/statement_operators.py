"""Operators that add a statement which a mistake leaves out, move one, or make one like another.

They use the names in scope and the other statements of the file, and no reference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product

from grader.edits.context import (
    ExpressionContext,
    NodeReplacer,
    each,
    expression,
    expressions,
    statements,
    with_part,
)
from grader.edits.unused import twin

#: What a missing check of an argument `{p}` may be; `{q}` is another argument.
REFUSALS = ("{p} < 1", "{p} <= 0", "{p} < 0", "{p} % {q}", "{p} < {q}", "{p} > {q}", "({p} < 0).any()")


def like_another(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Give a variable a value like that of another one: the same call, with the old value as an argument."""
    values = [n.value for n in body if isinstance(n, ast.Assign)]
    calls = [value for value in values if isinstance(value, ast.Call)]
    for before, statement, after in each(body):
        for call in calls if isinstance(statement, ast.Assign) else ():
            args = [[*call.args[:i], statement.value, *call.args[i + 1 :]] for i in range(len(call.args))]
            for value in (*(with_part(call, "args", changed) for changed in args), call, *_turned(call)):
                yield [*before, with_part(statement, "value", value), *after]


def like_a_twin(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Give a variable the value of another one, with its own name in place of the other's."""
    pairs = [pair for n in body if isinstance(n, ast.Assign) for pair in _statement_pairs(n)]
    for before, statement, after in each(body):
        for target, value in _statement_pairs(statement) if isinstance(statement, ast.Assign) else ():
            texts = [twin(like, other, target) for other, like in pairs if other != target]
            for node in expressions(text for text in texts if text != ast.unparse(value)):
                own = NodeReplacer({ast.unparse(value): node}).of(statement.value)
                yield [*before, with_part(statement, "value", own), *after]


def with_members(
    body: list[ast.stmt], around: ExpressionContext, missing: list[str]
) -> Iterator[list[ast.stmt]]:
    """Make a member of a module that is read and never made, like another member of it."""
    if around.method != "__init__" or not missing:
        return
    for before, statement, after in each(body):
        pairs = _statement_pairs(statement) if isinstance(statement, ast.Assign) else []
        for (other, value), name in product(pairs, missing):
            for call in expressions([twin(value, other, name)]):
                for node in (call, *_turned(call)):
                    yield [*before, statement, *statements(f"self.{name} = {ast.unparse(node)}"), *after]


def initialized(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Call the constructor of the base class."""
    if around.in_module and around.method == "__init__" and "super()" not in map(_start, body):
        yield [*statements("super().__init__()"), *body]


def returned(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Return another local variable, or return one where nothing is returned."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.Return):
            yield from ([*before, *statements(f"return {name}"), *after] for name in around.names)
    if body and not any(isinstance(n, ast.Return) for n in body):
        yield from ([*body, *statements(f"return {name}")] for name in around.names)


def refused(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Refuse an argument, or give one that is None the value of another."""
    others = [(p, q) for p in sorted(around.parameters) for q in sorted(around.parameters) if p != q]
    texts = [f"if {p} is None:\n    {p} = {q}" for p, q in others]
    pairs = others or [(p, p) for p in around.parameters]
    tests = [test.replace("{p}", p).replace("{q}", q) for test in REFUSALS for p, q in pairs]
    texts += [f"if {test}:\n    raise ValueError" for test in dict.fromkeys(tests)]
    start = sum(map(_is_text, body[:1]))
    yield from ([*body[:start], *statements(text), *body[start:]] for text in texts)


def moved(body: list[ast.stmt], _: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Move a statement to another place in its body, or into or out of the loop beside it."""
    for before, statement, after in each(body):
        rest = [*before, *after]
        for index in range(len(rest) + 1):
            if abs(index - len(before)) > 1 and not isinstance(statement, ast.Return):
                yield [*rest[:index], statement, *rest[index:]]
        if isinstance(statement, ast.For | ast.If | ast.With) and len(statement.body) > 1:
            yield [*before, with_part(statement, "body", statement.body[:-1]), statement.body[-1], *after]
        if isinstance(statement, ast.For | ast.While | ast.With) and after:
            yield [*before, with_part(statement, "body", [*statement.body, after[0]]), *after[1:]]


def copied_first(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Copy a parameter before it is changed."""
    for before, statement, after in each(body):
        for name in sorted(around.parameters & {getattr(n, "id", "") for n in ast.walk(statement)}):
            for method in ("copy", "clone"):
                yield [*before, *statements(f"{name} = {name}.{method}()"), statement, *after]


def made_anew(body: list[ast.stmt], _: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Give a variable a new value in place of changing the one that it has."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.AugAssign):
            old = expression(ast.unparse(statement.target))
            value = ast.BinOp(old, statement.op, statement.value)
            yield [*before, ast.Assign([statement.target], value), *after]


def prepared(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Set the mode of a module, or reset the gradients of an optimizer."""
    for before, statement, after in each(body):
        for name in around.names:
            for call in ("zero_grad", "eval", "train"):
                yield [*before, *statements(f"{name}.{call}()"), statement, *after]


def _statement_pairs(node: ast.Assign) -> list[tuple[str, ast.expr]]:
    """Return the names that a statement assigns, without `self.`, and their values."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = [*zip(target.elts, value.elts, strict=True)]
    else:
        pairs = [(target, value)]
    named = [(ast.unparse(one).removeprefix("self."), other) for one, other in pairs]
    return [(name, other) for name, other in named if name.isidentifier()]


def _turned(node: ast.expr) -> Iterator[ast.expr]:
    """Yield a call with its first two arguments exchanged."""
    if isinstance(node, ast.Call) and len(node.args) > 1:
        yield with_part(node, "args", [node.args[1], node.args[0], *node.args[2:]])


def _start(node: ast.stmt) -> str:
    return ast.unparse(node).partition(".")[0]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
