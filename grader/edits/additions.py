"""Operators that add what a mistake leaves out, such as a factor, an axis or a cast, and that put a like node
in place of another.

They use the names in scope and what the file itself calls, and no reference.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from grader.edits.context import (
    COMPARISONS,
    MODULES,
    PARTNERS,
    SMALLEST_SIZE,
    ExpressionContext,
    each,
    expression,
    expressions,
    name_of,
    names_in,
    statements,
    with_part,
)
from grader.edits.expression_operators import INFINITIES
from grader.edits.patterns import (
    ALONE,
    ALONG_AN_AXIS,
    AXES,
    AXIS,
    INDICES,
    INFINITE,
    KEPT,
    KEYWORDS_OF,
    LATER,
    LESS_ITS_MAXIMUM,
    MAKING,
    OF_MODULES,
    OTHER_WORDS,
    REDUCED,
    REDUCTIONS,
    SELDOM,
    SELDOM_ALONE,
    SELDOM_WITH_NAME,
    SELDOM_WITH_NAME_IN,
    SELDOM_WITH_NUMBER,
    WITH_NAME,
    WITH_TWO_NAMES,
    WITH_TWO_NAMES_IN,
    WITH_WEIGHTS,
)
from grader.edits.statement_operators import (
    copied_first,
    initialized,
    like_a_twin,
    like_another,
    made_anew,
    moved,
    prepared,
    refused,
    returned,
    with_members,
)
from grader.edits.unused import Unread
from grader.edits.walk import Spot

MOST_OPERANDS = 5  # of an expression whose brackets are put elsewhere
VALUES = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare
MOST_NAMES = 10


class Additions:
    """Generates edits that add code to a submission, made of the names, calls and indices that it has."""

    def __init__(
        self,
        tree: ast.Module,
        library: str,
        lines: Collection[int] = (),
        keys: Collection[str] = (),
        unbound: str = "",
        *,
        raises: bool = False,
    ) -> None:
        """Read a tree; `lines` ran in a failing call, whose arguments have the keys `keys`. If it `raises`,
        and did so because a name was not bound, this is `unbound`."""
        self.library, self.unbound, self.raises = library, unbound, raises
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
        self.unread = Unread(tree, lines, keys)
        made = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        bound = {n.attr for n in own if isinstance(n.ctx, ast.Store)} | made | {*OF_MODULES.split()}
        registered = {n.value for n in nodes if isinstance(n, ast.Constant)}  # the names of buffers
        self.unbound_members = sorted({n.attr for n in own} - bound - registered)

    def at(self, spot: Spot) -> Iterator[Any]:
        """Yield what could be put in place of a node or a body, the most common slips first."""
        node, around = spot.node, spot.around
        if isinstance(node, list):
            operators = [returned, refused, moved, copied_first]
            if self.library == "torch":
                operators.append(prepared)
            for operator in operators if around.where and spot.part != "decorator_list" else ():
                yield from operator(node, around)
        elif spot.part != "func":  # a function is no value
            if _is_value(node):
                text = ast.unparse(node)
                texts = (pattern.replace("{0}", text) for pattern in self._patterns(node, around))
                yield from _in_turns(self._by_kind(node, around), expressions(texts))
                return
            yield from self._by_kind(node, around)
            if isinstance(node, ast.Constant) or _is_number(node):
                names = self._names(node, around)
                value = getattr(node, "value", None)
                pattern = "1 - {n}" if value == 1 else f"{value} * {{n}}"  # a share, or a size
                longer = _with_names([pattern], names) if type(value) is int and value > 0 else ()
                yield from expressions([INFINITE[self.library], *names, *longer, *self.constants])

    def of_statements(self, spot: Spot) -> Iterator[list[ast.stmt]]:
        """Yield bodies with one more statement, or with one changed to resemble another."""
        if isinstance(spot.node, list) and spot.around.where and spot.part == "body":
            yield from initialized(spot.node, spot.around)
            yield from made_anew(spot.node, spot.around)
            yield from self._bound(spot.node, spot.around)
            yield from like_a_twin(spot.node)
            yield from with_members(spot.node, spot.around, self.unbound_members)
            yield from like_another(spot.node)
        if isinstance(spot.node, list) and self.raises and spot.part in ("body", "orelse"):
            yield from where_it_fits(spot.node)

    def _bound(self, body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
        """Yield bodies that assign the variable which is read and not bound."""
        for before, statement, after in each(body):
            if self.unbound in names_in(statement):
                for value in self._values(around):
                    assign = ast.Assign([ast.Name(self.unbound, ast.Store())], value)
                    yield [*before, assign, statement, *after]
                return

    def _values(self, around: ExpressionContext) -> Iterator[ast.expr]:
        """Yield what a name may be bound to: an empty value, a mask of later positions, or what is made of a
        name."""
        unread = [name for name in around.names if name in self.unread.variables(around.where)]
        names = _distinct([*unread, *around.names])
        parts = [f"{{n}}[{index}]" for index in _distinct([*self.indices, *INDICES])]
        empty = ["0", "[]", "{}", *(f"[{name}]" for name in names)]
        later = LATER[self.library].replace("{p}", min(around.parameters, default=""))
        alone = [text.replace("{0}", "{n}") for text in self._alone(around)]
        yield from expressions(_with_names([*parts, *alone], unread))
        yield from expressions([*empty, *_with_names([later, *alone, *parts], names)])

    def with_unread_names(self, spot: Spot) -> Iterator[Any]:
        """Yield what could replace a node, using what the file has and never uses: a variable, a member, a
        function, or a key of the arguments."""
        node, around = spot.node, spot.around
        if spot.part == "func" or not isinstance(node, ast.AST) or not (_is_value(node) or _is_number(node)):
            return
        text, names = ast.unparse(node), self._names(node, around)
        members = self.unread_members if "." in around.where else []
        bound = [name for name in self.unread.variables(around.where) if name in names]
        looked_up = self.unread.looked_up(around)
        bound = [*bound, *members, *looked_up]
        given = _array_of(node) if isinstance(node, ast.Call) else ""  # such as `x.clip(0)` for `x - n`
        first = [*self.unread.calls(around, names), *_with_names(WITH_WEIGHTS, looked_up)]
        yield from expressions(pattern.replace("{0}", text) for pattern in first)
        for pattern in self._with_unread(bound, names, around) if bound else ():
            if "{0}" not in pattern or not _is_number(node):
                yield from expressions([pattern.replace("{0}", text)])
        if given:
            yield from expressions(one.replace("{0}", given) for one in _with_names(WITH_NAME, bound))

    def _with_unread(self, bound: list[str], names: list[str], around: ExpressionContext) -> Iterator[str]:
        """Yield patterns with one of the names in `bound`, and perhaps one of `names`."""
        seldom = (*SELDOM_WITH_NAME_IN[self.library], *SELDOM_WITH_NAME, *SELDOM_WITH_NUMBER)
        yield from _with_names(_pairs(bound[1:]), bound)
        yield from _with_names(("{n}", "{n}({0})", *WITH_NAME), bound)
        for small in (name for name in around.names if "eps" in name):
            yield from _with_names((f"({{0}}) / ({{n}} + {small}) ** 0.5", f"{{n}} ** 0.5 + {small}"), bound)
        yield from _with_names(seldom, bound)
        yield from _with_names(_pairs(names, WITH_TWO_NAMES_IN[self.library]), bound)
        yield from _with_names(_pairs(names), bound)
        parts = [f"{name}[{index}]" for name in bound for index in _distinct([*self.indices, *INDICES])]
        yield from _with_names(("({0}) @ {n}", "{n} @ ({0})", *WITH_NAME[:4]), parts)

    def _by_kind(self, node: ast.AST, around: ExpressionContext) -> Iterator[ast.AST]:
        """Yield what fits the kind of the node: a keyword of a call, another number, an exception."""
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield from of_attribute(node)
        if isinstance(node, ast.Call):
            yield from shifted(node)
            if node.args:
                yield with_part(node, "args", [*node.args, node.args[-1]])  # such as the shape of a square
            yield from self._with_keyword(node, around)
            yield from of_call(node)
            if self.raises:
                yield from in_the_words_of_another_library(node)
            for value in [INFINITE[self.library], *self._names(node, around), "1", "-1", "0", "None"]:
                yield with_part(node, "args", [*node.args, expression(value)])
        if isinstance(node, ast.List | ast.Tuple) and isinstance(node.ctx, ast.Load):
            yield from node.elts
            for item in expressions([*self._names(node, around), "[]", "{}", "0", "None"]):
                for at in (len(node.elts), 0):
                    yield with_part(node, "elts", [*node.elts[:at], item, *node.elts[at:]])
        if isinstance(node, ast.Subscript):
            yield from with_another_axis(node)
            others = _distinct([*self.indices, *INDICES])
            yield from (with_part(node, "slice", one.slice) for one in expressions(f"x[{i}]" for i in others))  # type: ignore[attr-defined]
        if isinstance(node, ast.BinOp) and ast.unparse(node.left) == (same := ast.unparse(node.right)):
            twice = (pattern for pattern in ALONE[self.library] if pattern.count("{0}") == 2)
            yield from expressions(pattern.replace("{0}", same) for pattern in twice)
        if isinstance(node, ast.BinOp):
            yield from bracketed_otherwise(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield expression(INFINITE[self.library])  # for a large negative number
        yield from other_number(node)
        yield from other_operator(node)
        yield from raised(node)
        if isinstance(node, ast.Slice) and (node.lower or node.upper):
            yield ast.Slice(negated(node.upper), negated(node.lower), node.step)

    def _patterns(self, node: ast.AST, around: ExpressionContext) -> Iterator[str]:
        """Yield source patterns that change a value, such as `-({0})`, for the most common mistakes first."""
        names, seldom = self._names(node, around), (*SELDOM_WITH_NAME_IN[self.library], *SELDOM_WITH_NAME)
        if isinstance(node, ast.Name | ast.Attribute):
            yield from names
        yield from (f"{module}({{0}})" for module in self.modules if "." in around.where)
        if isinstance(node, ast.Call) and name_of(node) in REDUCED and (given := _array_of(node)):
            yield from (f"{given} - ({{0}})", f"{given} / ({{0}})")
        elif isinstance(node, ast.Call) and name_of(node) in ("clip", "clamp"):
            yield LESS_ITS_MAXIMUM[self.library].replace("{0}", _array_of(node))
        indexed = [f"({{0}})[{index}]" for index in _distinct([*self.indices, *INDICES])]
        called = [f"{function}({{0}})" for function in self.functions]
        yield from _in_turns(
            iter([*self._alone(around), *SELDOM_ALONE[self.library]]),
            _with_names(WITH_NAME, names),
            iter([*called, *indexed]),
        )
        yield from SELDOM
        yield from _with_names(seldom, names)
        yield from _with_names(SELDOM_WITH_NUMBER, [name for name in names if name not in self.arrays])

    def _alone(self, around: ExpressionContext) -> list[str]:
        """Return the patterns without a name. One along the last axis may go along a parameter `axis`."""
        along = "axis=axis" if "axis" in around.parameters else "axis=-1"
        patterns = [*ALONE[self.library]]
        if self.raises:  # most often since shapes do not fit, which an operation of each entry keeps
            patterns.sort(key=lambda pattern: not pattern.startswith("({0})."))
        return _distinct([*patterns, *(pattern.replace("axis=-1", along) for pattern in patterns)])

    def _names(self, node: ast.AST, around: ExpressionContext) -> list[str]:
        """Return the names that are bound before the node, the nearest first."""
        line = getattr(node, "lineno", 0)
        bound = [name for name, bound_in in around.names.items() if bound_in < line]
        nearest = sorted(bound, key=around.names.__getitem__, reverse=True)
        own = self.members if "." in around.where else []
        return [*nearest[:MOST_NAMES], *own[:MOST_NAMES]]

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


def _is_module(value: ast.expr) -> bool:
    """Return whether the expression makes a module, such as `nn.Linear(2, 3)`."""
    return isinstance(value, ast.Call) and ast.unparse(value.func).startswith(("nn.", "torch.nn."))


def _is_value(node: ast.AST) -> bool:
    """Return whether the node is an expression that is read, and neither a module nor a module's function."""
    if not isinstance(node, VALUES) or isinstance(getattr(node, "ctx", None), ast.Store) or _is_number(node):
        return False
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    is_member = root is not node and getattr(root, "id", "") not in ("self", "")
    return not (isinstance(root, ast.Name) and root.id in MODULES) and not is_member


def _is_number(node: ast.AST) -> bool:
    """Return whether the node is a signed number or infinite, which no operation of arrays fits."""
    is_signed = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    return is_signed or ast.unparse(node) in INFINITIES or ast.unparse(node).endswith(".inf")


def _pairs(others: list[str], patterns: Iterable[str] = WITH_TWO_NAMES) -> list[str]:
    return [text.replace("{m}", other) for other in others for text in patterns]


def _with_names(patterns: Sequence[str], names: list[str]) -> Iterator[str]:
    """Yield the patterns with each name; the first pattern and the first name come soonest."""
    pairs = [(i + j, i, j) for i in range(len(patterns)) for j in range(len(names))]
    return (patterns[i].replace("{n}", names[j]) for _, i, j in sorted(pairs))


def _array_of(call: ast.Call) -> str:
    """Return the array that a method or a function of a module takes first: `x` of `x.sum()`, `np.sum(x)`."""
    if not isinstance(call.func, ast.Attribute):
        return ""
    if ast.unparse(call.func.value) not in MODULES:
        return f"({ast.unparse(call.func.value)})"
    return f"({ast.unparse(call.args[0])})" if call.args else ""


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


def of_call(node: ast.Call) -> Iterator[ast.AST]:
    """Yield `x.add(y)` for `x.add_(y)`, `x.reshape(y)` for `x.view(y)`, another reduction, another order of
    the last two of several axes, and `super().__init__()` for `super()`."""
    name = name_of(node)
    if name == "view" and isinstance(node.func, ast.Attribute):
        yield with_part(node, "func", with_part(node.func, "attr", "reshape"))
    if name in ("transpose", "permute") and len(node.args) > 2:
        yield with_part(node, "args", [*node.args[:-2], node.args[-1], node.args[-2]])
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


def in_the_words_of_another_library(node: ast.Call) -> Iterator[ast.AST]:
    """Yield a call with a keyword that has another name in NumPy than in PyTorch."""
    for at, keyword in enumerate(node.keywords):
        if keyword.arg in OTHER_WORDS:
            renamed = ast.keyword(OTHER_WORDS[keyword.arg], keyword.value)
            yield with_part(node, "keywords", [*node.keywords[:at], renamed, *node.keywords[at + 1 :]])


def where_it_fits(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield bodies in which an entry is set only if the array has it, as if after a condition."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            handler = ast.ExceptHandler(ast.Name("IndexError", ast.Load()), None, [ast.Pass()])
            yield [*before, ast.Try([statement], [handler], [], []), *after]


def shifted(node: ast.Call) -> Iterator[ast.AST]:
    """Yield a range that begins and ends one earlier, or one later."""
    if name_of(node) in ("range", "arange") and len(node.args) in (1, 2):
        bounds = node.args if len(node.args) == 2 else [ast.Constant(0), node.args[0]]
        for op in (ast.Sub(), ast.Add()):
            moved: list[ast.expr] = [ast.BinOp(bound, op, ast.Constant(1)) for bound in bounds]
            yield with_part(node, "args", moved)


def of_attribute(node: ast.Attribute) -> Iterator[ast.AST]:
    """Yield one length for a shape, and a swap of the last two axes for `x.T`."""
    if node.attr == "shape":
        yield from (expression(f"{ast.unparse(node)}[{axis}]") for axis in AXES)
    elif node.attr == "T":
        yield expression(f"({ast.unparse(node.value)}).swapaxes(-1, -2)")


def raised(node: ast.AST) -> Iterator[ast.AST]:
    """Yield another exception, or one where a condition has no effect."""
    if isinstance(node, ast.Raise):
        for name in ("ValueError", "TypeError", "IndexError"):
            yield from statements(f"raise {name}")
    elif isinstance(node, ast.If) and all(isinstance(n, ast.Pass) for n in node.body):
        yield with_part(node, "body", statements("raise ValueError"))


def other_number(node: ast.AST) -> Iterator[ast.AST]:
    """Yield numbers further away: half and twice, tenfold, the negative one, two more and two less."""
    value: Any = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and type(value) in (int, float):
        near = [value / 2, value / 10, value * 10, -value, -2, 2, 0, 1, 0.5]
        near += [value + 2, value - 2] if isinstance(value, int) and value < SMALLEST_SIZE else []
        yield from (expression(repr(int(v) if type(value) is int and v == int(v) else v)) for v in near)


def in_reading_order(node: ast.expr) -> list[Any]:
    """Return the operands of an arithmetic expression and the operators between them, brackets left out."""
    if not isinstance(node, ast.BinOp):
        return [node]
    return [*in_reading_order(node.left), node.op, *in_reading_order(node.right)]


def bracketed_otherwise(node: ast.BinOp) -> Iterator[ast.expr]:
    """Yield the expression with its brackets in other places, if it has few operands."""
    parts = in_reading_order(node)
    if 3 < len(parts) <= 2 * MOST_OPERANDS:
        yield from (other for other in _bracketings(parts) if ast.dump(other) != ast.dump(node))


def _bracketings(parts: list[Any]) -> Iterator[ast.expr]:
    if len(parts) == 1:
        yield parts[0]
    for at in range(1, len(parts), 2):
        op = parts[at]
        for left, right in product(_bracketings(parts[:at]), _bracketings(parts[at + 1 :])):
            is_same = isinstance(op, ast.Add | ast.Mult) and isinstance(getattr(right, "op", None), type(op))
            if not is_same:  # a + (b + c) is (a + b) + c
                yield ast.BinOp(left, op, right)


def other_operator(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        for op in (ast.Pow, ast.MatMult, ast.Add, ast.Mult, ast.Div):
            if not isinstance(node.op, op):
                yield ast.BinOp(node.left, op(), node.right)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        given = type(node.ops[0])
        for other in COMPARISONS:
            if other not in (given, *COMPARISONS[given]):
                yield ast.Compare(node.left, [other()], node.comparators)


def with_another_axis(node: ast.Subscript) -> Iterator[ast.AST]:
    """Yield the index with one more axis, all of it or a new one."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for at in range(len(items) + 1):
        for item in (ast.Constant(None), ast.Slice()):
            yield with_part(node, "slice", ast.Tuple([*items[:at], item, *items[at:]], ast.Load()))


def negated(bound: ast.expr | None) -> ast.expr | None:
    if bound is None:
        return None
    return bound.operand if isinstance(bound, ast.UnaryOp) else ast.UnaryOp(ast.USub(), bound)
