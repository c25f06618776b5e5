"""Walk over a syntax tree and yield the places where operators make edits.

Mutation operators for statements and their order, and for operations in place.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from grader.edits import expression_operators
from grader.edits.context import (
    IGNORED_KEYWORDS,
    ExpressionContext,
    Family,
    each,
    expression,
    first_argument,
    inside,
    name_of,
    names_in,
    statements,
    with_part,
)
from grader.edits.expression_operators import EXTREMES, LIMITS, expression_mutations, is_negative, slips
from grader.edits.state_operators import BUFFERS, MODES, STATE

FAMILY = "statements"
SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Assert)


def statement_mutations(body: list[ast.stmt], *, detaches: bool = False) -> Iterator[list[ast.stmt]]:
    """Yield every body that differs from this one by one mutation."""
    for index, statement in enumerate(body):
        if is_docstring(statement):
            continue
        before, after = body[:index], body[index + 1 :]
        for replacement in _replacements(statement, detaches=detaches):
            yield [*before, *replacement, *after] or [ast.Pass()]
        if after and _order_matters(statement, after[0]):
            yield [*before, after[0], statement, *after[1:]]


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _replacements(node: ast.stmt, *, detaches: bool) -> Iterator[list[ast.stmt]]:
    """Yield the replacements of one statement: nothing, a part of it, or a similar statement."""
    if isinstance(node, (*SIMPLE, ast.For, ast.While, ast.With, ast.If, ast.Break, ast.Continue)):
        yield node.orelse if isinstance(node, ast.If) else []
    if isinstance(node, ast.If):
        yield node.body
        yield [ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]
    elif isinstance(node, ast.With):
        yield node.body
    elif isinstance(node, ast.For):
        yield [ast.For(node.target, node.iter, [*node.body, ast.Break()], node.orelse)]
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield [ast.Raise(ast.Call(ast.Name("RuntimeError"), [], []))]
    elif isinstance(node, ast.AugAssign):
        yield [ast.Assign([node.target], node.value)]
    elif isinstance(node, ast.Assign) and _extends_itself(node):
        yield [ast.AugAssign(node.targets[0], node.value.op, node.value.right)]  # type: ignore[arg-type, attr-defined]
    if detaches and isinstance(node, ast.Assign | ast.Return) and _computes(node.value):
        yield [_detached(node, node.value)]


def _order_matters(first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether one of two simple statements writes a name of the other, or both are calls."""
    if not isinstance(first, SIMPLE) or not isinstance(second, SIMPLE):
        return False
    if isinstance(first, ast.Expr) and isinstance(second, ast.Expr):
        return True
    return bool(_written(first) & _named(second) or _written(second) & _named(first))


def _written(node: ast.AST) -> set[str]:
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored - {"_"}


def _named(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _computes(value: ast.expr | None) -> TypeGuard[ast.expr]:
    """Return whether a gradient may flow through the value: not through new tensors or plain numbers."""
    made = value is None or ast.unparse(value).startswith(("torch.ones", "torch.eye", "torch.arange"))
    return not made and not isinstance(value, ast.Tuple | ast.Attribute | ast.Constant | ast.Subscript)


def _extends_itself(node: ast.Assign) -> bool:
    """Return whether the statement is `x = x + …`, whose variant in place changes an argument."""
    return isinstance(node.value, ast.BinOp) and ast.unparse(node.targets[0]) == ast.unparse(node.value.left)


def _detached(node: ast.Assign | ast.Return, value: ast.expr) -> ast.stmt:
    detached = ast.Call(ast.Attribute(value, "detach"), [], [])
    return ast.Return(detached) if isinstance(node, ast.Return) else ast.Assign(node.targets, detached)


#: Methods of PyTorch that have a variant in place, such as `add_`.
IN_PLACE = {"masked_fill", "scatter", "clamp", "clip", "sub", "div", "mul", "add"}
OPERATORS_IN_PLACE = {ast.Sub: "-=", ast.Add: "+="}  # without `*=`, since a factor is often a plain number


def done_last(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Move a call behind all others, such as `zero_grad` behind `step`."""
    if around.method == "__init__":
        return  # the order of attributes does not matter
    for before, statement, after in each(body):
        ending = after[-1:] if after and isinstance(after[-1], ast.Return) else []
        between = after[: len(after) - len(ending)]
        if _is_call(statement) and len(between) > 1:
            yield [*before, *between, statement, *ending]


def done_once(body: list[ast.stmt], _: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Move a call from the body of a loop to the line before it."""
    for before, loop, after in each(body):
        if not isinstance(loop, ast.For):
            continue
        bound = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for first, statement, rest in each(loop.body):
            if _is_call(statement) and not names_in(statement) & bound:
                yield [*before, statement, with_part(loop, "body", [*first, *rest]), *after]


def changed_in_place(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Change an argument in place instead of making a new tensor."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in IN_PLACE or not around.is_entry:
        return
    if getattr(func.value, "id", "") in around.parameters:
        yield with_part(node, "func", with_part(func, "attr", f"{func.attr}_"))


def computed_in_an_argument(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Change an argument in place where the reference computes a new value from it."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) and around.is_entry:
            value, sign = statement.value, OPERATORS_IN_PLACE.get(type(statement.value.op))
            argument = getattr(value.left, "id", "")
            target = ast.unparse(statement.targets[0])
            if sign and argument in around.parameters and target != argument:
                change = f"{argument} {sign} {ast.unparse(value.right)}"
                yield [*before, *statements(f"{change}\n{target} = {argument}"), *after]


def all_axes_reversed(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a swap of two axes by `.T`, which reverses all axes."""
    if name_of(node) in ("transpose", "swapaxes") and isinstance(node.func, ast.Attribute):
        array = first_argument(node) if ast.unparse(node.func.value) == "np" else node.func.value
        if array is not None:
            yield expression(f"({ast.unparse(array)}).T")


ORDER = Family(
    "order",
    (
        (ast.Call, changed_in_place),
        (ast.Call, all_axes_reversed),
    ),
    (done_last, done_once, computed_in_an_argument),
)


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


RARER = (STATE, BUFFERS, LIMITS, MODES, EXTREMES, ORDER)
#: The families of mutation operators.
FAMILIES = (expression_operators.FAMILY, FAMILY, *(family.name for family in RARER))
#: Fields of a node that do not change the result.
IGNORED_FIELDS = {"annotation", "returns", "ctx", "type_comment", "bases", "exc", "msg", "type_params"}


@dataclass(frozen=True)
class Edit:
    """One change of a tree: the field `part` of `owner` becomes `new`; `where` is the function around it."""

    where: str
    owner: ast.AST
    part: str
    old: Any
    new: Any

    def source(self, tree: ast.AST) -> str:
        """Return the source of the tree with this edit; the tree is left as it was."""
        for node in self.new if isinstance(self.new, list) else [self.new]:
            if isinstance(node, ast.AST):
                ast.fix_missing_locations(node)  # `unparse` reads the lines of statements
        setattr(self.owner, self.part, self.new)
        try:
            return ast.unparse(tree)
        finally:
            setattr(self.owner, self.part, self.old)


@dataclass(frozen=True)
class Spot:
    """A place in a tree where operators make edits: a node, or the statements of a body."""

    owner: ast.AST
    part: str
    around: ExpressionContext
    node: Any  # an expression or a statement; a list for the statements of a body
    index: int | None = None  # of the node in the list that `part` holds

    def edit(self, other: Any) -> Edit:
        """Return the edit that puts `other` in place of the node."""
        old = getattr(self.owner, self.part)
        new = other if self.index is None else [*old[: self.index], other, *old[self.index + 1 :]]
        return Edit(self.around.where, self.owner, self.part, old, new)


def mutations(tree: ast.Module, *, detaches: bool = False) -> Iterator[tuple[str, Edit]]:
    """Yield the edits that make mutants, and the family of their operators; `detaches` adds those that
    detach a gradient."""
    for spot in spots(tree):
        yield from ((family, spot.edit(other)) for family, other in mutations_at(spot, detaches=detaches))


def mutations_at(spot: Spot, *, detaches: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield what the mutation operators put in place of a node or a body, and their family."""
    if not isinstance(spot.node, list):
        yield from expression_mutations(spot.node, spot.around)
        for family in RARER:
            for kind, operator in family.of_nodes:
                if isinstance(spot.node, kind):
                    yield from ((family.name, other) for other in operator(spot.node, spot.around))
    elif spot.part == "decorator_list":
        shorter = (spot.node[:i] + spot.node[i + 1 :] for i in range(len(spot.node)))
        yield from ((expression_operators.FAMILY, others) for others in shorter)
    else:
        where = spot.around.where
        detaches = detaches and "." in where and not where.endswith("__init__")
        for body in statement_mutations(spot.node, detaches=detaches):
            yield FAMILY, body
        for family in RARER:
            for of_body in family.of_bodies:
                yield from ((family.name, body) for body in of_body(spot.node, spot.around))


def slips_at(spot: Spot) -> Iterator[Any]:
    """Yield the mutations of a node or a body that may also repair a mistake. Those that keep a value from an
    earlier call, or limit a step to one mode, never do, and are left out."""
    if not isinstance(spot.node, list):
        yield from slips(spot.node, spot.around)
    elif spot.part != "decorator_list":
        yield from statement_mutations(spot.node)
        for operator in ORDER.of_bodies:
            yield from operator(spot.node, spot.around)


def spots(tree: ast.Module) -> Iterator[Spot]:
    """Yield every place of the tree where an operator may make an edit."""
    yield from _spots(tree, ExpressionContext())


def _spots(node: ast.AST, around: ExpressionContext) -> Iterator[Spot]:
    around = inside(node, around)
    for part, value in ast.iter_fields(node):
        if part in IGNORED_FIELDS:
            continue
        if part in ("body", "orelse", "decorator_list") and isinstance(value, list):
            yield Spot(node, part, around, value)
        if isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST) and not is_docstring(item) and not _is_inferred_size(node, item):
                    yield Spot(node, part, inside(item, around), item, index)
                    yield from _inside(item, around)
        elif isinstance(value, ast.AST):
            yield Spot(node, part, around, value)
            yield from _inside(value, around)


def _is_inferred_size(node: ast.AST, argument: ast.AST) -> bool:
    """Return whether the argument is the -1 of `reshape(…, -1)`, which is not an axis."""
    return getattr(getattr(node, "func", None), "attr", "") in ("reshape", "view") and is_negative(argument)


def _inside(node: ast.AST, around: ExpressionContext) -> Iterator[Spot]:
    """Yield the places inside a node, unless they do not change the result."""
    if not _is_ignored(node):
        yield from _spots(node, around)


def _is_ignored(node: ast.AST) -> bool:
    """Return whether edits leave the inside of a node alone, as they do in messages, imports, signed numbers,
    and the tensor whose device or dtype is taken over."""
    return (
        isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and (node.attr in ("device", "dtype") or node.attr[:4] == "new_"))
        or (isinstance(node, ast.keyword) and node.arg in IGNORED_KEYWORDS)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))
    )


def changed_lines(before: str, after: str) -> tuple[str, str]:
    """Return the lines that only one of the texts has, without indentation.

    If a line was moved, the second text includes the line that now precedes it.
    """
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+- "]
    removed, added = ([line[2:].strip() for line in lines if line[0] == sign] for sign in "-+")
    if removed == added:
        kept = [line for line in lines if line[0] != "-"]
        place = next(index for index, line in enumerate(kept) if line[0] == "+")
        added = [kept[place - 1][2:].strip(), *added]
    return "\n".join(removed), "\n".join(added)
