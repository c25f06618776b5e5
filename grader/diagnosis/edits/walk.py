"""Walk over a syntax tree and yield the edits that operators make, each with the node that it replaces."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from grader.diagnosis.edits import order_operators, state_operators
from grader.diagnosis.edits.context import ExpressionContext, inside
from grader.diagnosis.edits.expression_operators import expression_mutations, is_negative
from grader.diagnosis.edits.operator_tables import IGNORED_KEYWORDS
from grader.diagnosis.edits.statement_operators import is_docstring, statement_mutations

#: Fields of a node that do not change the result.
IGNORED_FIELDS = {"annotation", "returns", "ctx", "type_comment", "bases", "exc", "msg", "type_params"}

#: Yields the nodes that could replace a node, or the bodies that could replace a list of statements.
ExpressionOperator = Callable[[ast.AST, ExpressionContext], Iterator[ast.AST]]
BodyOperator = Callable[[list[ast.stmt], ExpressionContext], Iterator[list[ast.stmt]]]


@dataclass(frozen=True)
class Edit:
    """One change of a tree: the field `part` of `owner` becomes `new`; `where` is the function around it."""

    where: str
    owner: ast.AST
    part: str
    old: Any
    new: Any

    def source(self, tree: ast.Module) -> str:
        """Return the source of the tree with this edit; the tree is left as it was."""
        setattr(self.owner, self.part, self.new)
        try:
            return ast.unparse(ast.fix_missing_locations(tree))
        finally:
            setattr(self.owner, self.part, self.old)


@dataclass(frozen=True)
class Operators:
    """The operators of one walk."""

    expressions: ExpressionOperator
    bodies: tuple[BodyOperator, ...]
    decorators: bool = True  # leave out each decorator


def mutation_operators(detaches: bool = False) -> Operators:
    """Return the operators that make mutants; `detaches` adds those that detach a gradient."""

    def of_statements(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
        cuts = detaches and "." in around.where and not around.where.endswith("__init__")
        return statement_mutations(body, cuts)

    return Operators(expression_mutations, (of_statements, *state_operators.BODIES, *order_operators.BODIES))


def edits(tree: ast.Module, operators: Operators) -> Iterator[Edit]:
    """Yield every edit of the tree."""
    yield from _edits(tree, ExpressionContext(), operators)


def _edits(node: ast.AST, around: ExpressionContext, operators: Operators) -> Iterator[Edit]:
    around = inside(node, around)
    for part, value in ast.iter_fields(node):
        if part in IGNORED_FIELDS:
            continue
        if part in ("body", "orelse") and isinstance(value, list):
            for operator in operators.bodies:
                for body in operator(value, around):
                    yield Edit(around.where, node, part, value, body)
        if part == "decorator_list" and operators.decorators:
            for i in range(len(value)):
                yield Edit(around.where, node, part, value, value[:i] + value[i + 1 :])
        if isinstance(value, list):
            yield from _in_list(node, part, value, around, operators)
        elif isinstance(value, ast.AST):
            for other in operators.expressions(value, around):
                yield Edit(around.where, node, part, value, other)
            yield from _inside(value, around, operators)


def _in_list(
    node: ast.AST, part: str, items: list[ast.AST], around: ExpressionContext, operators: Operators
) -> Iterator[Edit]:
    for index, item in enumerate(items):
        if isinstance(item, ast.AST) and not is_docstring(item) and not _is_inferred_size(node, item):
            within = inside(item, around)
            for other in operators.expressions(item, within):
                yield Edit(within.where, node, part, items, [*items[:index], other, *items[index + 1 :]])
            yield from _inside(item, around, operators)


def _is_inferred_size(node: ast.AST, argument: ast.AST) -> bool:
    """Return whether the argument is the -1 of `reshape(…, -1)`, which is not an axis."""
    return getattr(getattr(node, "func", None), "attr", "") in ("reshape", "view") and is_negative(argument)


def _inside(node: ast.AST, around: ExpressionContext, operators: Operators) -> Iterator[Edit]:
    """Yield the edits of the parts of a node, unless they do not change the result."""
    if not _is_ignored(node):
        yield from _edits(node, around, operators)


def _is_ignored(node: ast.AST) -> bool:
    """Return whether the parts of a node are not changed: messages, imports, devices, signed numbers."""
    return (
        isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and node.attr in ("device", "dtype"))
        or (isinstance(node, ast.keyword) and node.arg in IGNORED_KEYWORDS)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))
    )
