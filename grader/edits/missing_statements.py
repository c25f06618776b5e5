"""Operators that add a statement which a slip leaves out, move one, or make one like another; and the names
that a submission never uses, which tell what is missing.

They use the names in scope and the other statements of the file, and no reference.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
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

MOST_KEYS = 4  # if more are not mentioned, the file has other ways to reach them


@dataclass(frozen=True)
class Unused:
    """A function or method that no line of the file uses and that did not run, and its parameters."""

    name: str  # as it is called, such as `self.split`
    parameters: tuple[str, ...]

    def calls(self, names: list[str]) -> Iterator[str]:
        """Yield its calls, such as `f({0}, n)`: other arguments are variables with the parameter's name; one
        without such a variable may be any."""
        first, *others = self.parameters or ("",)
        free = [other for other in others if other not in names]
        for name in names if len(free) == 1 else [""] * (not free):
            given = [name if other in free else other for other in others]
            yield f"{self.name}({', '.join(['{0}', *given] if first else given)})"


class Unread:
    """The names of a tree that are bound and never read, or not before they are bound again.

    `lines` ran in a failing call, whose arguments have the keys `keys`.
    """

    def __init__(self, tree: ast.Module, lines: Collection[int], keys: Collection[str]) -> None:
        self._variables = dict(_unread(tree))
        self._unused = list(_unused(tree, frozenset(lines))) if lines else []
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        parts = [text for text in texts if len(text) > 1]  # of keys such as `f"{name}_gamma"`
        unused = [key for key in keys if key not in texts and not any(part in key for part in parts)]
        self._keys = unused if len(unused) <= MOST_KEYS and all(map(str.isidentifier, unused)) else []
        self._owners = dict(_owners(tree))

    def variables(self, where: str) -> list[str]:
        """Return the variables of a function of which it does not read a value."""
        return self._variables.get(where, [])

    def looked_up(self, around: ExpressionContext) -> list[str]:
        """Return what the keys that the file does not mention would look up, such as `weights['k']`."""
        owners = self._owners.get(around.where) or sorted(around.parameters)
        return [f"{owner}[{key!r}]" for key in self._keys for owner in owners]

    def calls(self, around: ExpressionContext, names: list[str]) -> list[str]:
        """Return the calls of functions that are never used, as patterns of an argument `{0}`."""
        own = [one for one in self._unused if "." in around.where or not one.name.startswith("self.")]
        return [call for one in own for call in one.calls(names)]


def twin(value: ast.expr, name: str, other: str) -> str:
    """Return the source of a value of the variable `name` as it would read for `other`: the value `x @ w_q`
    of `q` reads `x @ w_k` for `k`."""
    words, others = name.split("_"), other.split("_")
    pairs = [(a, b) for a, b in zip(words, others, strict=False) if a != b]
    old, new = pairs[0] if len(pairs) == 1 and len(words) == len(others) else (name, other)
    return re.sub(rf"(?<![^\W_]){re.escape(old)}(?![^\W_])", new, ast.unparse(value))


def _unread(node: ast.AST, where: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield each function's qualified name, and the names that it binds and never reads."""
    for name, inner in _definitions(node, where):
        if isinstance(inner, ast.FunctionDef):
            names = [n for n in ast.walk(inner) if isinstance(n, ast.Name)]
            bound = [arg.arg for arg in inner.args.args if arg.arg != "self"]
            bound += [n.id for n in names if isinstance(n.ctx, ast.Store)]
            read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
            lost, _ = _lost(inner.body, {*bound} & {arg.arg for arg in inner.args.args})
            yield name, list(dict.fromkeys(n for n in bound if n != "_" and (n not in read or n in lost)))
        yield from _unread(inner, name)


def _lost(body: list[ast.stmt], waiting: set[str]) -> tuple[set[str], set[str]]:
    """Return the names that are bound again before they are read, and those that still wait to be read; the
    names in `waiting` do so before."""
    lost = set[str]()
    for node in body:
        parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]
        names = [n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)]
        reads_all = isinstance(node, ast.AugAssign)
        waiting = waiting - {n.id for n in names if reads_all or isinstance(n.ctx, ast.Load)}
        bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        lost |= waiting & bound
        waiting |= bound
        blocks = [block for part in ("body", "orelse") if (block := getattr(node, part, []))]
        ends = [_lost(block, waiting) for block in blocks if isinstance(block, list)]
        lost = lost.union(*(end[0] for end in ends))
        waiting = waiting.intersection(*(end[1] for end in ends))
    return lost, waiting


def _unused(tree: ast.Module, lines: frozenset[int]) -> Iterator[Unused]:
    """Yield the functions and methods that the file never reads and of which no line ran."""
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    read |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    outers: list[ast.Module | ast.ClassDef] = [tree, *(n for n in tree.body if isinstance(n, ast.ClassDef))]
    for outer in outers:
        for node in (n for n in outer.body if isinstance(n, ast.FunctionDef)):
            body = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
            if node.name not in read and not node.name.startswith("__") and lines.isdisjoint(body):
                given = [arg.arg for arg in node.args.args]
                of_self = given[:1] == ["self"]
                parameters = given[of_self : len(given) - len(node.args.defaults)]
                yield Unused(f"self.{node.name}" if of_self else node.name, tuple(parameters))


def _owners(node: ast.AST, where: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield each function's qualified name, and the values that it looks keys up in."""
    for name, inner in _definitions(node, where):
        found = [n for n in ast.walk(inner) if isinstance(n, ast.Subscript)]
        texts = [ast.unparse(n.value) for n in found if isinstance(getattr(n.slice, "value", None), str)]
        yield name, list(dict.fromkeys(texts))
        yield from _owners(inner, name)


def _definitions(node: ast.AST, where: str) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            yield f"{where}.{inner.name}" if where else inner.name, inner


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
    pairs = [pair for n in body if isinstance(n, ast.Assign) for pair in _pairs(n)]
    for before, statement, after in each(body):
        for target, value in _pairs(statement) if isinstance(statement, ast.Assign) else ():
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
        pairs = _pairs(statement) if isinstance(statement, ast.Assign) else []
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


def _pairs(node: ast.Assign) -> list[tuple[str, ast.expr]]:
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
