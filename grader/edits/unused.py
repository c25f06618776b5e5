"""Find the names that a submission never uses, which tell what is missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from grader.edits.context import (
    ExpressionContext,
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
        unnamed = [] if free else [""]
        for name in names if len(free) == 1 else unnamed:
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
