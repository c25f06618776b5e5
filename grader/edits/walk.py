"""Walk over a syntax tree and yield the places where operators make edits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.edits import expression_operators, statement_operators
from grader.edits.context import IGNORED_KEYWORDS, ExpressionContext, inside
from grader.edits.expression_operators import EXTREMES, LIMITS, expression_mutations, is_negative, slips
from grader.edits.state_operators import BUFFERS, MODES, STATE
from grader.edits.statement_operators import ORDER, is_docstring, statement_mutations

RARER = (STATE, BUFFERS, LIMITS, MODES, EXTREMES, ORDER)
#: The families of mutation operators.
FAMILIES = (expression_operators.FAMILY, statement_operators.FAMILY, *(family.name for family in RARER))
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


def mutations(tree: ast.Module, detaches: bool = False) -> Iterator[tuple[str, Edit]]:
    """Yield the edits that make mutants, and the family of their operators; `detaches` adds those that
    detach a gradient."""
    for spot in spots(tree):
        yield from ((family, spot.edit(other)) for family, other in mutations_at(spot, detaches))


def mutations_at(spot: Spot, detaches: bool = False) -> Iterator[tuple[str, Any]]:
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
        for body in statement_mutations(spot.node, detaches):
            yield statement_operators.FAMILY, body
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
