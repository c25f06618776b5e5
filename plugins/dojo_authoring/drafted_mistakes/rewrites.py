"""Rewrites: edits that known mistakes were, as patterns that fit the code of other katas.

`a.sum(axis=b, keepdims=True)` becomes `a.sum()`: each letter stands for any expression, `np` for the array
library at hand. A pattern of one letter fits names and whole values. One without code before it is a
statement that is added behind the one that binds `a`.
"""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Any

import numpy as np

from dojo_authoring.drafted_mistakes.changes import KEYWORDS, LIBRARIES, where_in
from grader.edits.context import ExpressionContext
from grader.edits.walk import Edit, Spot, spots

LETTERS = re.compile(r"([a-z])\1*")
MOST_NAMES = 3  # that a letter which only the new code has may stand for, the nearest first
WORDS_OF_TORCH = {name: word for word, name in KEYWORDS.items()}
AXES = ("-1", "0", "1", "-2")  # that may stand for another one
Bound = dict[str, ast.expr]


@dataclass(frozen=True)
class Rewrite:
    """A pattern of code and what takes its place, both as `abstract` writes them. A pattern of one letter
    fits only at the places in `where`, as `where_in` writes them."""

    was: str
    now: str
    where: frozenset[str] = frozenset()

    @cached_property
    def old(self) -> ast.expr | None:
        """The pattern as a node; None for a statement that is added."""
        return ast.parse(self.was, mode="eval").body if self.was else None

    @cached_property
    def new(self) -> ast.expr | ast.stmt:
        (node,) = ast.parse(self.now).body
        return node.value if self.was and isinstance(node, ast.Expr) else node

    @property
    def is_usable(self) -> bool:
        """Whether both are one expression each, or the new code is one assignment that is added."""
        with suppress(SyntaxError, ValueError):
            if self.old is None:
                return isinstance(self.new, ast.Assign) and isinstance(self.new.targets[0], ast.Name)
            return isinstance(self.new, ast.expr)
        return False

    def is_known_to(self, library: str) -> bool:
        """Return whether the functions and methods that the new code calls exist in an array library."""
        modules: list[Any] = [np, math]
        types: list[Any] = [np.ndarray, np.random.Generator]
        if library == "torch":
            import torch  # NumPy katas do not need it

            modules, types = [torch], [torch.Tensor, torch.nn.Module]
        calls = (node.func for node in ast.walk(self.new) if isinstance(node, ast.Call))
        for func in (one for one in calls if isinstance(one, ast.Attribute)):
            is_of_module = isinstance(func.value, ast.Name) and func.value.id == "np"
            owners = modules if is_of_module else [*types, list, dict, str, set]
            if not any(hasattr(owner, func.attr) for owner in owners):
                return False
        return True


def rewritten(tree: ast.Module, rewrites: list[Rewrite], library: str) -> Iterator[tuple[Rewrite, Edit]]:
    """Yield the edits of a tree that the rewrites are, wherever they fit."""
    rewrites = [rewrite for rewrite in rewrites if rewrite.is_known_to(library)]
    of_kinds: dict[type[ast.AST], list[Rewrite]] = {}
    for rewrite in rewrites:
        if rewrite.old is not None:
            of_kinds.setdefault(type(rewrite.old), []).append(rewrite)
    added = [rewrite for rewrite in rewrites if rewrite.old is None]
    any_ = [one for one in of_kinds.pop(ast.Name, []) if _is_letter(one.was)]
    for spot in spots(tree):
        if isinstance(spot.node, list):
            if spot.part == "body" and spot.around.where:
                yield from ((one, edit) for one in added for edit in _with_added(one, spot, library))
        elif isinstance(spot.node, ast.expr) and _is_read(spot.node):
            fitting, where = of_kinds.get(type(spot.node), []), where_in(spot.owner, spot.part)
            if _is_value(spot):
                fitting = [*fitting, *(one for one in any_ if where in one.where)]
            for one in fitting:
                for node in _in_place_of(one, spot.node, spot.around, library):
                    yield one, spot.edit(node)


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_value(spot: Spot) -> bool:
    """Return whether the node is a variable, or all of what a statement returns or assigns."""
    is_module = isinstance(spot.node, ast.Name) and spot.node.id in LIBRARIES
    is_whole = isinstance(spot.owner, ast.Return | ast.Assign) and spot.part == "value"
    is_name = isinstance(spot.node, ast.Name) and spot.part not in ("func", "targets", "target")
    return is_whole or (is_name and not is_module)


def _is_letter(name: str) -> bool:
    return bool(LETTERS.fullmatch(name))


def _in_place_of(
    rewrite: Rewrite, node: ast.expr, around: ExpressionContext, library: str
) -> Iterator[ast.expr]:
    bound: Bound = {}
    assert rewrite.old is not None  # one that is added has no place of its own
    if fits(rewrite.old, node, bound):
        for found in _filled(rewrite.new, bound, around, getattr(node, "lineno", 0)):
            made = _Instance(found, library).visit(copy.deepcopy(rewrite.new))
            if ast.dump(made) != ast.dump(node):
                yield made


def _with_added(rewrite: Rewrite, spot: Spot, library: str) -> Iterator[Edit]:
    """Yield the edits that add the statement behind each one that binds its variable, and at the beginning
    for a parameter."""
    assert isinstance(rewrite.new, ast.Assign)
    target = rewrite.new.targets[0]
    name = getattr(target, "id", "")
    if name not in {n.id for n in ast.walk(rewrite.new.value) if isinstance(n, ast.Name)}:
        return  # one that does not change a variable of the code is of no other kata
    body, start = spot.node, int(_is_text(spot.node[0]))
    places = [(start, ast.Name(one)) for one in sorted(spot.around.parameters)] if _is_function(spot) else []
    for at, statement in enumerate(body[:-1], 1):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        places += [(at, one) for one in targets if isinstance(one, ast.Name)]
    for at, variable in places:
        line = getattr(body[at], "lineno", 0)
        read = ast.Name(variable.id)
        for found in _filled(rewrite.new.value, {name: read}, spot.around, line):
            made = _Instance(found, library).visit(copy.deepcopy(rewrite.new))
            yield spot.edit([*body[:at], made, *body[at:]])


def _is_function(spot: Spot) -> bool:
    return isinstance(spot.owner, ast.FunctionDef)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _filled(new: ast.AST, bound: Bound, around: ExpressionContext, line: int) -> Iterator[Bound]:
    """Yield the bound letters with those that only the new code has, which stand for names in scope."""
    names = [n.id for n in ast.walk(new) if isinstance(n, ast.Name) and _is_letter(n.id)]
    free = [name for name in dict.fromkeys(names) if name not in bound]
    if len(free) > 1:
        return
    used = {ast.unparse(node) for node in bound.values()}
    axes = {ast.unparse(kw.value) for kw in ast.walk(new) if isinstance(kw, ast.keyword) and _is_axis(kw)}
    if axes & {*free}:
        numbers = (ast.parse(text, mode="eval").body for text in AXES if text not in used)
        yield from ({**bound, free[0]: number} for number in numbers)
        return
    near = sorted((name for name, at in around.names.items() if at < line), key=around.names.__getitem__)
    choices = islice((name for name in reversed(near) if name not in used), MOST_NAMES)
    for chosen in product([*choices], repeat=len(free)):
        yield {**bound, **{name: ast.Name(one) for name, one in zip(free, chosen, strict=True)}}


def _is_axis(keyword: ast.keyword) -> bool:
    return keyword.arg == "axis" and isinstance(keyword.value, ast.Name)


def fits(pattern: Any, node: Any, bound: Bound) -> bool:
    """Return whether a node is what a pattern says, and bind the letters of the pattern."""
    if isinstance(pattern, ast.Name) and isinstance(node, ast.expr):
        if pattern.id == "np":
            if not (isinstance(node, ast.Name) and node.id in LIBRARIES):
                return False
            return _bind("np", node, bound)
        if _is_letter(pattern.id):
            is_module = isinstance(node, ast.Name) and node.id in LIBRARIES
            return not is_module and _bind(pattern.id, node, bound)
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.keyword):
        return pattern.arg == KEYWORDS.get(node.arg, node.arg) and fits(pattern.value, node.value, bound)
    if isinstance(pattern, ast.AST):
        fields = [name for name in pattern._fields if name not in ("ctx", "kind", "type_comment")]
        return all(fits(getattr(pattern, name), getattr(node, name), bound) for name in fields)
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(map(fits, pattern, node, [bound] * len(node)))
    return bool(pattern == node)


def _bind(name: str, node: ast.expr, bound: Bound) -> bool:
    return ast.dump(bound.setdefault(name, node)) == ast.dump(node)


class _Instance(ast.NodeTransformer):
    """Puts what letters stand for into a pattern, in the words of a library."""

    def __init__(self, bound: Bound, library: str) -> None:
        self._bound, self._library = bound, library

    def visit_Name(self, node: ast.Name) -> ast.expr:  # the library gives this name
        if node.id == "np" and "np" not in self._bound:
            return ast.Name("torch" if self._library == "torch" else "np", node.ctx)
        if node.id not in self._bound:
            return node
        made = copy.deepcopy(self._bound[node.id])
        if isinstance(made, ast.Name):
            made.ctx = node.ctx
        return made

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        name = node.arg or ""
        word = WORDS_OF_TORCH.get(name, name) if self._library == "torch" else name
        return ast.keyword(word, self.visit(node.value))
