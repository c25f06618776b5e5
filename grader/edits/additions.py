"""Operators that add what a slip leaves out: a factor, an axis, a cast, a mask, a maximum, a copy.

They use the names in scope and what the file itself calls, and no reference.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from grader.edits.addition_tables import (
    ALONE,
    ALONE_OF,
    ALONG_AN_AXIS,
    AXES,
    AXIS,
    INDICES,
    INFINITE,
    KEPT,
    KEYWORDS_OF,
    LATER,
    MAKING,
    REDUCTIONS,
    SELDOM,
    SELDOM_ALONE,
    SELDOM_WITH_NAME,
    SELDOM_WITH_NAME_IN,
    SELDOM_WITH_NUMBER,
    WITH_NAME,
    WITH_TWO_NAMES,
)
from grader.edits.context import (
    COMPARISONS,
    MODULES,
    PARTNERS,
    SMALLEST_SIZE,
    ExpressionContext,
    each,
    expression,
    name_of,
    names_in,
    statements,
    with_part,
)
from grader.edits.missing_statements import (
    copied_first,
    initialized,
    like_another,
    made_anew,
    moved,
    prepared,
    refused,
    returned,
)
from grader.edits.walk import Spot

VALUES = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare
MOST_NAMES = 10


class Additions:
    """Generates edits that add code to a submission, made of the names, calls and indices that it has."""

    def __init__(self, tree: ast.Module, library: str) -> None:
        self.library = library
        nodes = list(ast.walk(tree))
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        own = [n for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "self"]
        self.indices = _distinct([ast.unparse(n.slice) for n in nodes if isinstance(n, ast.Subscript)])
        self.keywords: dict[str, list[str]] = {}
        for call in calls:
            self.keywords.setdefault(name_of(call), []).extend(map(ast.unparse, call.keywords))
        called = [c.func for c in calls if isinstance(c.func, ast.Attribute)]
        self.functions = _distinct([ast.unparse(f) for f in called if getattr(f.value, "id", "") in MODULES])
        self.arrays = {
            n.value.id for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
        }
        modules = {
            ast.unparse(n.targets[0]) for n in nodes if isinstance(n, ast.Assign) and _is_module(n.value)
        }
        self.modules = sorted(modules)
        self.members = [name for name in _distinct(map(ast.unparse, own)) if name not in modules]
        self.constants = _distinct([repr(n.value) for n in nodes if isinstance(n, ast.Constant)])
        read = {ast.unparse(n) for n in own if isinstance(n.ctx, ast.Load)}
        self.unread_members = [name for name in [*self.members, *self.modules] if name not in read]
        self.unread = dict(_unread(tree))
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        imported = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
        made = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        self.known = {*vars(builtins), *made, *stored, *(n.arg for n in nodes if isinstance(n, ast.arg))}
        self.known |= {alias.asname or alias.name.split(".")[0] for n in imported for alias in n.names}

    def at(self, spot: Spot) -> Iterator[Any]:
        """Yield what could be put in place of a node or a body, the most common slips first."""
        node, around = spot.node, spot.around
        if isinstance(node, list):
            operators = (returned, refused, moved, copied_first, *[prepared] * (self.library == "torch"))
            for operator in operators if around.where and spot.part != "decorator_list" else ():
                yield from operator(node, around)
        elif spot.part != "func":  # a function is no value
            if _is_value(node):
                text = ast.unparse(node)
                patterns = _parsed(pattern.replace("{0}", text) for pattern in self._patterns(node, around))
                yield from _in_turns(self._by_kind(node, around), patterns)
                return
            yield from self._by_kind(node, around)
            if isinstance(node, ast.Constant):
                yield from _parsed([*self._names(node, around), *self.constants, INFINITE[self.library]])

    def of_statements(self, spot: Spot) -> Iterator[list[ast.stmt]]:
        """Yield bodies with one more statement, or with one changed to resemble another."""
        if isinstance(spot.node, list) and spot.around.where and spot.part == "body":
            yield from initialized(spot.node, spot.around)
            yield from made_anew(spot.node, spot.around)
            yield from self._bound(spot.node, spot.around)
            yield from like_another(spot.node)

    def _bound(self, body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
        """Yield bodies that assign a variable which is read and never assigned."""
        known = self.known | around.names.keys()
        for before, statement, after in each(body):
            missing = sorted(names_in(statement) - known)
            values = self._values(around) if len(missing) == 1 else ()
            for value in values:
                assign = ast.Assign([ast.Name(missing[0], ast.Store())], value)
                yield [*before, assign, statement, *after]
            if missing:
                return

    def _values(self, around: ExpressionContext) -> Iterator[ast.expr]:
        """Yield what a name may be bound to: a mask of later positions, or a part of a name."""
        names = [*around.names]
        unread = [name for name in names if name in self.unread.get(around.where, ())]
        parts = [f"{{n}}[{index}]" for index in _distinct([*self.indices, *INDICES])]
        later = LATER[self.library].replace("{p}", min(around.parameters, default=""))
        yield from _parsed(_with_names([*parts, *ALONE_OF[self.library]], unread))
        yield from _parsed(_with_names([later], names))

    def with_unread_names(self, spot: Spot) -> Iterator[Any]:
        """Yield what could replace a node, using a variable that is assigned and never read."""
        node, around = spot.node, spot.around
        unread = [*self.unread.get(around.where, ()), *(self.unread_members if "." in around.where else ())]
        if unread and spot.part != "func" and isinstance(node, ast.AST) and _is_value(node):
            text, names = ast.unparse(node), self._names(node, around)
            bound = [name for name in unread if name in names or name in self.unread_members]
            seldom = (*SELDOM_WITH_NAME_IN[self.library], *SELDOM_WITH_NAME, *SELDOM_WITH_NUMBER)
            patterns = [*_with_names(_pairs(bound[1:]), bound)]
            patterns += _with_names(("{n}", "{n}({0})", *WITH_NAME, *seldom, *_pairs(names)), bound)
            for small in (name for name in names if "eps" in name):
                patterns += _with_names((f"({{0}}) / ({{n}} + {small}) ** 0.5",), bound)
            yield from _parsed(pattern.replace("{0}", text) for pattern in patterns)

    def _by_kind(self, node: ast.AST, around: ExpressionContext) -> Iterator[ast.AST]:
        """Yield what fits the kind of the node: a keyword of a call, another number, an exception."""
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield from _of_attribute(node)
        if isinstance(node, ast.Call):
            if node.args:
                yield with_part(node, "args", [*node.args, node.args[-1]])  # such as the shape of a square
            yield from self._with_keyword(node, around)
            yield from _of_call(node)
            for value in [*self._names(node, around), "1", "-1", "0", "None", INFINITE[self.library]]:
                yield with_part(node, "args", [*node.args, expression(value)])
        if isinstance(node, ast.List | ast.Tuple) and isinstance(node.ctx, ast.Load):
            yield from node.elts
        yield from _other_number(node)
        yield from _other_operator(node)
        yield from _raised(node)
        if isinstance(node, ast.Slice) and (node.lower or node.upper):
            yield ast.Slice(_negated(node.upper), _negated(node.lower), node.step)

    def _patterns(self, node: ast.AST, around: ExpressionContext) -> Iterator[str]:
        """Yield source patterns that change a value, such as `-({0})`, for the most common mistakes first."""
        names, seldom = self._names(node, around), (*SELDOM_WITH_NAME_IN[self.library], *SELDOM_WITH_NAME)
        if isinstance(node, ast.Name | ast.Attribute):
            yield from names
        yield from (f"{module}({{0}})" for module in self.modules if "." in around.where)
        alone = ALONE[self.library]
        yield from alone
        if "axis" in around.parameters:
            yield from (pattern.replace("axis=-1", "axis=axis") for pattern in alone if "axis=-1" in pattern)
        yield from _with_names(WITH_NAME, names)
        yield from SELDOM_ALONE[self.library]
        yield from (f"{function}({{0}})" for function in self.functions)
        yield from (f"({{0}})[{index}]" for index in _distinct([*self.indices, *INDICES]))
        yield from SELDOM
        yield from _with_names(seldom, names)
        yield from _with_names(SELDOM_WITH_NUMBER, [name for name in names if name not in self.arrays])

    def _names(self, node: ast.AST, around: ExpressionContext) -> list[str]:
        """Return the names that are bound before the node, the nearest first."""
        line = getattr(node, "lineno", 0)
        bound = sorted((bound_in, name) for name, bound_in in around.names.items() if bound_in < line)
        own = self.members if "." in around.where else []
        return [*(name for _, name in bound[::-1][:MOST_NAMES]), *own[:MOST_NAMES]]

    def _with_keyword(self, node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
        """Yield the call with one more keyword, or with the last axis kept."""
        word, given = AXIS[self.library], {keyword.arg for keyword in node.keywords}
        name, texts = name_of(node), []
        if name in ALONG_AN_AXIS.split():
            axes = [*(axis for axis in ("axis", "dim") if axis in around.parameters), "-1"]
            texts += [*(f"{word}={axis}, {KEPT[self.library]}" for axis in axes), KEPT[self.library]]
            texts += [f"{word}={axis}" for axis in [*axes, "0", "1", "-2"]]
        texts += [*self.keywords[name], *KEYWORDS_OF.get(name, ())]
        if name in MAKING.split():
            texts += [f"dtype={one}.dtype" for one in around.parameters]
            texts += [f"device={one}.device" for one in around.parameters if self.library == "torch"]
        for text in _distinct(texts):
            keywords = expression(f"f({text})").keywords  # type: ignore[attr-defined]
            if not given & {keyword.arg for keyword in keywords}:
                yield with_part(node, "keywords", [*node.keywords, *keywords])


def _of_call(node: ast.Call) -> Iterator[ast.AST]:
    """Yield `x.add(y)` for `x.add_(y)`, another reduction, and `super().__init__()` for `super()`."""
    name = name_of(node)
    if (
        isinstance(node.func, ast.Attribute)
        and name.endswith("_")
        and name.strip("_")
        and name not in PARTNERS
    ):
        yield with_part(node, "func", with_part(node.func, "attr", name.rstrip("_")))
    if name in REDUCTIONS and isinstance(node.func, ast.Attribute):
        yield from (with_part(node, "func", with_part(node.func, "attr", other)) for other in REDUCTIONS)
    if name == "super":
        yield expression("super().__init__()")


def _of_attribute(node: ast.Attribute) -> Iterator[ast.AST]:
    """Yield one length for a shape, and a swap of the last two axes for `x.T`."""
    if node.attr == "shape":
        yield from (expression(f"{ast.unparse(node)}[{axis}]") for axis in AXES)
    elif node.attr == "T":
        yield expression(f"({ast.unparse(node.value)}).swapaxes(-1, -2)")


def _raised(node: ast.AST) -> Iterator[ast.AST]:
    """Yield another exception, or one where a condition has no effect."""
    if isinstance(node, ast.Raise):
        for name in ("ValueError", "TypeError", "IndexError"):
            yield from statements(f"raise {name}")
    elif isinstance(node, ast.If) and all(isinstance(n, ast.Pass) for n in node.body):
        yield with_part(node, "body", statements("raise ValueError"))


def _other_number(node: ast.AST) -> Iterator[ast.AST]:
    """Yield numbers further away: half and twice, tenfold, the negative one, two more and two less."""
    value: Any = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and type(value) in (int, float):
        near = [value / 2, value / 10, value * 10, -value, -2, 2, 0, 1, 0.5]
        near += [value + 2, value - 2] if isinstance(value, int) and value < SMALLEST_SIZE else []
        yield from (expression(repr(int(v) if type(value) is int and v == int(v) else v)) for v in near)


def _other_operator(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        for op in (ast.Pow, ast.MatMult, ast.Add, ast.Mult, ast.Div):
            if not isinstance(node.op, op):
                yield ast.BinOp(node.left, op(), node.right)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        given = type(node.ops[0])
        for other in COMPARISONS:
            if other not in (given, *COMPARISONS[given]):
                yield ast.Compare(node.left, [other()], node.comparators)


def _negated(bound: ast.expr | None) -> ast.expr | None:
    if bound is None:
        return None
    return bound.operand if isinstance(bound, ast.UnaryOp) else ast.UnaryOp(ast.USub(), bound)


def _is_module(value: ast.expr) -> bool:
    """Return whether the expression makes a module, such as `nn.Linear(2, 3)`."""
    return isinstance(value, ast.Call) and ast.unparse(value.func).startswith(("nn.", "torch.nn."))


def _is_value(node: ast.AST) -> bool:
    """Return whether the node is an expression that is read, and neither a module nor a module's function."""
    if not isinstance(node, VALUES) or isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    is_member = root is not node and getattr(root, "id", "") not in ("self", "")
    return not (isinstance(root, ast.Name) and root.id in MODULES) and not is_member


def _unread(node: ast.AST, where: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield each function's qualified name, and the names that it binds and never reads."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            name = f"{where}.{inner.name}" if where else inner.name
            if isinstance(inner, ast.FunctionDef):
                names = [n for n in ast.walk(inner) if isinstance(n, ast.Name)]
                bound = [arg.arg for arg in inner.args.args if arg.arg != "self"]
                bound += [n.id for n in names if isinstance(n.ctx, ast.Store)]
                read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
                yield name, _distinct(n for n in bound if n not in read)
            yield from _unread(inner, name)


def _pairs(others: list[str]) -> list[str]:
    return [text.replace("{m}", other) for other in others for text in WITH_TWO_NAMES]


def _with_names(patterns: Iterable[str], names: list[str]) -> Iterator[str]:
    return (pattern.replace("{n}", name) for pattern in patterns for name in names)


def _parsed(texts: Iterable[str]) -> Iterator[ast.expr]:
    """Parse the texts as expressions; skip those that are no valid expression."""
    for text in texts:
        with suppress(SyntaxError):
            yield expression(text)


def _in_turns(*iterators: Iterator[Any]) -> Iterator[Any]:
    """Take one item from each iterator in turn until all are used up."""
    left = list(iterators)
    while left:
        for iterator in [*left]:
            try:
                yield next(iterator)
            except StopIteration:
                left.remove(iterator)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
