"""Operators that add what a slip leaves out: a factor, an axis, a cast, a mask, a maximum, a copy.

They use the names in scope and what the file itself calls, and no reference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from grader.diagnosis.edits.context import ExpressionContext, each, expression, name_of, statements, with_part
from grader.diagnosis.edits.operator_tables import COMPARISONS, MODULES, PARTNERS, SMALLEST_SIZE
from grader.diagnosis.edits.walk import Spot

VALUES = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare
MOST_NAMES = 8
LAST_AXIS = {"numpy": "axis=-1, keepdims=True", "torch": "dim=-1, keepdim=True"}
AXIS_WORD = {"numpy": "axis", "torch": "dim"}
SIZES = ("1e-5", "1e-6", "1e-8", "1e-9", "1e-12")
INDICES = ("-1", "0", "..., -1", "..., None", ":, None", "None", "1:", ":-1", ":, -1", "..., :-1", "..., 1:")
MASKING = {
    "numpy": ("np.where({1}, {0}, -np.inf)", "np.where({1}, -np.inf, {0})", "np.where({1}, {0}, 0.0)"),
    "torch": (
        "({0}).masked_fill(~{1}, float('-inf'))",
        "({0}).masked_fill({1}, float('-inf'))",
        "({0}).masked_fill(~{1}, 0.0)",
    ),
}
CALLS = {
    "numpy": ("np.exp({0})", "np.log({0})", "np.sqrt({0})", "np.abs({0})", "np.square({0})", "np.tanh({0})"),
    "torch": ("({0}).exp()", "({0}).log()", "({0}).sqrt()", "({0}).softmax(dim=-1)", "({0}).abs()"),
}
TURNS = {
    "numpy": ("({0}).T", "({0}).swapaxes(-1, -2)", "({0}).swapaxes(1, 2)", "({0}).transpose(0, 2, 1, 3)"),
    "torch": ("({0}).T", "({0}).transpose(-2, -1)", "({0}).transpose(1, 2)"),
}
REDUCED = {
    "numpy": "({0}).{1}(axis=-1, keepdims=True)",
    "torch": "({0}).{1}(dim=-1, keepdim=True)",
}
COPY = {"numpy": "({0}).copy()", "torch": "({0}).clone()"}


class Additions:
    """The additions to one file, which depend on what it imports, calls and indexes."""

    def __init__(self, tree: ast.Module, library: str) -> None:
        self.library = library
        nodes = list(ast.walk(tree))
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        subscripts = [node.slice for node in nodes if isinstance(node, ast.Subscript)]
        self.indices = _distinct([*map(ast.unparse, subscripts), *INDICES])
        self.keywords = _distinct([ast.unparse(keyword) for call in calls for keyword in call.keywords])
        self.functions = _distinct([ast.unparse(c.func) for c in calls if isinstance(c.func, ast.Attribute)])
        attributes = [
            n for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "self"
        ]
        self.members = _distinct(map(ast.unparse, attributes))
        self.texts = _distinct([repr(n.value) for n in nodes if isinstance(n, ast.Constant)])

    def at(self, spot: Spot) -> Iterator[Any]:
        """Yield what could be put in place of a node or a body, the most common slips first."""
        if isinstance(spot.node, list):
            if spot.part != "decorator_list":
                for operator in (
                    returned,
                    moved,
                    copied_first,
                    *[prepared_module] * (self.library == "torch"),
                ):
                    yield from operator(spot.node, spot.around)
        elif spot.part != "func":  # a function is no value
            yield from self.likely(spot.node, spot.around)
            yield from self.rare(spot.node, spot.around)

    def likely(self, node: ast.AST, around: ExpressionContext) -> Iterator[ast.AST]:
        """Yield the nodes with something common added: an axis, a factor, a sign, a bound, another name."""
        if isinstance(node, ast.Call):
            yield from self._with_keyword(node, around)
            yield from _not_in_place(node)
        yield from _other_number(node)
        yield from _other_operator(node)
        if not _is_value(node):
            return
        text = ast.unparse(node)
        if isinstance(node, ast.Name | ast.Attribute):
            yield from map(expression, (n for n in self._names(node, around) if n != text))
        patterns = ["-({0})", "~({0})", *TURNS[self.library], COPY[self.library]]
        patterns += [f"({{0}}) {op} {n}" for n in self._factors(node, around) for op in "/*"]
        patterns += [f"({{0}}) {op} {n}" for n in self._names(node, around) for op in "+-"]
        patterns += [
            "({0}) - " + REDUCED[self.library].replace("{1}", "amax" if self.library == "torch" else "max")
        ]
        patterns += [f"{n} - ({{0}})" for n in self._names(node, around)]
        patterns += self._normalizations(node, around)
        patterns += ["({0}) + 1", "({0}) - 1", "1 - ({0})", "({0}) + 1e-5", "({0}) + 1e-6", "({0}) ** 2"]
        yield from _parsed(pattern.format(text) for pattern in patterns)

    def rare(self, node: ast.AST, around: ExpressionContext) -> Iterator[ast.AST]:
        """Yield the nodes with something less common added: a cast, a mask, an index, a call, an argument."""
        if isinstance(node, ast.Call):
            for value in [*self._names(node, around), "1", "-1", "0", "None"]:
                yield with_part(node, "args", [*node.args, expression(value)])
        if isinstance(node, ast.Constant):
            yield from map(expression, [*self.texts, *self._names(node, around)])
            yield from map(expression, ["-np.inf" if self.library == "numpy" else "float('-inf')"])
        if not _is_value(node):
            return
        text, names = ast.unparse(node), self._names(node, around)
        patterns = [f"({{0}})[{index}]" for index in self.indices]
        patterns += [mask.replace("{1}", name) for name in names for mask in MASKING[self.library]]
        patterns += [f"({{0}})[{cut}]" for n in names for cut in (f":{n}", f"{n}:", f":, :{n}", f"..., :{n}")]
        cast = "({{0}}).astype({}.dtype)" if self.library == "numpy" else "({{0}}).to({})"
        patterns += [cast.format(name) for name in names] + ["float({0})", "int({0})"]
        patterns += [f"{n} {op} ({{0}})" for n in names for op in "-/@"] + [f"({{0}}) @ {n}" for n in names]
        patterns += [f"({{0}}) {op} {n}" for n in names for op in ("and", "or", "&", "|", "<", ">", "**")]
        patterns += [f"{f}({{0}})" for f in self.functions] + list(CALLS[self.library])
        patterns += [REDUCED[self.library].replace("{1}", name) for name in ("sum", "mean")]
        patterns += [f"({{0}}) + {size}" for size in SIZES] + [
            "({0}) * 2",
            "({0}) / 2",
            "not ({0})",
            "1 / ({0})",
        ]
        patterns += ["max({0}, 1)", "min({0}, 1)", "({0}).clip(0)", "({0}).clip(0, 1)", "({0}) + 2"]
        yield from _parsed(pattern.format(text) for pattern in patterns)

    def _names(self, node: ast.AST, around: ExpressionContext) -> list[str]:
        """Return the names that are bound before the node, the nearest first."""
        line = getattr(node, "lineno", 0)
        bound = [name for name, bound_in in around.names.items() if bound_in < line]
        own = self.members if "." in around.where else []
        return [*bound[::-1][:MOST_NAMES], *own[:MOST_NAMES]]

    def _factors(self, node: ast.AST, around: ExpressionContext) -> Iterator[str]:
        """Yield the names, their roots, and the lengths of the last axes."""
        for name in self._names(node, around):
            yield from (name, f"{name} ** 0.5")
        for name in self._names(node, around):
            yield from (f"{name}.shape[-1] ** 0.5", f"{name}.shape[-1]")
        yield from ("2", "len(self)") if "." in around.where else ("2",)

    def _normalizations(self, node: ast.AST, around: ExpressionContext) -> Iterator[str]:
        """Yield patterns that divide by the sum along an axis, or by a root of a name and a small number."""
        for axes in ["axis=axis, keepdims=True"] * ("axis" in around.parameters) + [LAST_AXIS[self.library]]:
            yield f"({{0}}) / ({{0}}).sum({axes})"
        names = self._names(node, around)
        for small in (name for name in names if "eps" in name):
            yield from (f"({{0}}) / ({name} + {small}) ** 0.5" for name in names if name != small)

    def _with_keyword(self, node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
        """Yield the call with one more keyword, or with the last axis kept."""
        word, given = AXIS_WORD[self.library], {keyword.arg for keyword in node.keywords}
        axes = [f"{word}={name}" for name in ("-1", "0", "1", "-2", *_axes(around))]
        texts = [LAST_AXIS[self.library], "axis=axis, keepdims=True", *axes]
        texts += ["keepdims=True" if self.library == "numpy" else "keepdim=True", *self.keywords]
        texts += [f"dtype={name}.dtype" for name in around.parameters]
        texts += [f"device={name}.device" for name in around.parameters if self.library == "torch"]
        texts += ["correction=0", "diagonal=1", "k=1", "bias=False", "dtype=np.float64"]
        for text in _distinct(texts):
            keywords = expression(f"f({text})").keywords  # type: ignore[attr-defined]
            if not given & {keyword.arg for keyword in keywords}:
                yield with_part(node, "keywords", [*node.keywords, *keywords])
                if node.args and word in text:
                    yield with_part(with_part(node, "args", node.args[:1]), "keywords", keywords)


def returned(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Return another local variable, or return one where nothing is returned."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.Return):
            for name in around.names:
                yield [*before, *statements(f"return {name}"), *after]
    if around.where and not any(isinstance(n, ast.Return) for n in body):
        for name in around.names:
            yield [*body, *statements(f"return {name}")]


def moved(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Move a statement to another place in its body, or behind the loop that it ends."""
    for before, statement, after in each(body) if around.where else ():
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
        for name in sorted(around.parameters):
            if name in {getattr(n, "id", "") for n in ast.walk(statement)}:
                for method in ("copy", "clone"):
                    yield [*before, *statements(f"{name} = {name}.{method}()"), statement, *after]


def prepared_module(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Set the mode of a module, or reset the gradients of an optimizer."""
    for before, statement, after in each(body) if around.where else ():
        for name in around.names:
            for call in ("zero_grad", "eval", "train"):
                yield [*before, *statements(f"{name}.{call}()"), statement, *after]


def _axes(around: ExpressionContext) -> list[str]:
    return [name for name in around.parameters if name in ("axis", "dim")]


def _not_in_place(node: ast.Call) -> Iterator[ast.AST]:
    """Yield `x.add(y)` for `x.add_(y)`."""
    name = name_of(node)
    if (
        isinstance(node.func, ast.Attribute)
        and name.endswith("_")
        and name.strip("_")
        and name not in PARTNERS
    ):
        yield with_part(node, "func", with_part(node.func, "attr", name.rstrip("_")))


def _other_number(node: ast.AST) -> Iterator[ast.AST]:
    """Yield numbers further away: half and twice, tenfold, the negative one, two more and two less."""
    value: Any = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and type(value) in (int, float):
        near = [value / 2, value / 10, value * 10, -value, -2, 2, 0, 1, 0.5]
        near += [value + 2, value - 2] if isinstance(value, int) and value < SMALLEST_SIZE else []
        yield from (expression(repr(int(v) if type(value) is int and v == int(v) else v)) for v in near)


def _other_operator(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        for op in (ast.Pow, ast.MatMult, ast.Add, ast.Mult):
            if not isinstance(node.op, op):
                yield ast.BinOp(node.left, op(), node.right)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        given = type(node.ops[0])
        for other in COMPARISONS:
            if other not in (given, *COMPARISONS[given]):
                yield ast.Compare(node.left, [other()], node.comparators)


def _is_value(node: ast.AST) -> bool:
    """Return whether the node is an expression that is read, and no module or function of one."""
    if not isinstance(node, VALUES) or isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (
        isinstance(root, ast.Name) and (root.id in MODULES or (root is not node and root.id != "self"))
    )


def _parsed(texts: Iterable[str]) -> Iterator[ast.expr]:
    """Yield the expressions; leave out what is none, such as a slice in brackets."""
    for text in texts:
        with suppress(SyntaxError):
            yield expression(text)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
