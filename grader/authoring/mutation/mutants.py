"""Generate the mutants of a reference; each differs from it by one mutation that is typical of array code.

Mutation libraries (mutmut, cosmic-ray) have no operators for axes or transpositions, and start a test command
for each mutant. These mutants are syntax trees, and each runs in a fork.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from grader.authoring.mutation import order_operators, state_operators
from grader.authoring.mutation.context import ExpressionContext, inside
from grader.authoring.mutation.expression_operators import expression_mutations, is_negative
from grader.authoring.mutation.operator_tables import IGNORED_KEYWORDS
from grader.authoring.mutation.statement_operators import is_docstring, statement_mutations

#: Fields of a node that do not change the result.
IGNORED_FIELDS = {"annotation", "returns", "ctx", "type_comment", "bases", "exc", "msg", "type_params"}


@dataclass(frozen=True)
class Mutant:
    """A mutant: the function that it changes, the lines before and after, and its whole source."""

    where: str
    was: str
    now: str
    source: str

    @property
    def diff(self) -> str:
        """The lines that differ, marked with - and +."""
        removed = [f"- {line}" for line in self.was.splitlines()]
        return "\n".join([*removed, *(f"+ {line}" for line in self.now.splitlines())])


def mutants(source: str, detaches: bool = False) -> Iterator[Mutant]:
    """Yield every distinct mutant of the source; `detaches` adds those that detach a gradient."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for where in _mutate(tree, ExpressionContext(), detaches):
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text not in seen:
            seen.add(text)
            yield Mutant(where, *_difference(original, text), text)


def _mutate(node: ast.AST, around: ExpressionContext, detaches: bool) -> Iterator[str]:
    """Mutate the tree in place; at each yield it holds one mutation, in the function that is yielded."""
    around = inside(node, around)
    for part, value in ast.iter_fields(node):
        if part in IGNORED_FIELDS:
            continue
        if part in ("body", "orelse") and isinstance(value, list):
            cuts = detaches and "." in around.where and not around.where.endswith("__init__")
            yield from _replace_in_turn(node, part, value, statement_mutations(value, cuts), around)
            for operator in (*state_operators.BODIES, *order_operators.BODIES):
                yield from _replace_in_turn(node, part, value, operator(value, around), around)
        if part == "decorator_list":
            yield from _replace_in_turn(
                node, part, value, (value[:i] + value[i + 1 :] for i in range(len(value))), around
            )
        if isinstance(value, list):
            yield from _mutate_list(node, part, value, around, detaches)
        elif isinstance(value, ast.AST):
            yield from _replace_in_turn(node, part, value, expression_mutations(value, around), around)
            yield from _mutate_inside(value, around, detaches)


def _mutate_list(
    node: ast.AST, part: str, items: list[ast.AST], around: ExpressionContext, detaches: bool
) -> Iterator[str]:
    for index, item in enumerate(items):
        if isinstance(item, ast.AST) and not is_docstring(item) and not _is_inferred_size(node, item):
            within = inside(item, around)
            others = (
                [*items[:index], mutation, *items[index + 1 :]]
                for mutation in expression_mutations(item, within)
            )
            yield from _replace_in_turn(node, part, items, others, within)
            yield from _mutate_inside(item, around, detaches)


def _is_inferred_size(node: ast.AST, argument: ast.AST) -> bool:
    """Return whether the argument is the -1 of `reshape(…, -1)`, which is not an axis."""
    return getattr(getattr(node, "func", None), "attr", "") in ("reshape", "view") and is_negative(argument)


def _mutate_inside(node: ast.AST, around: ExpressionContext, detaches: bool) -> Iterator[str]:
    """Mutate the parts of a node, unless they do not change the result."""
    if not _is_ignored(node):
        yield from _mutate(node, around, detaches)


def _is_ignored(node: ast.AST) -> bool:
    """Return whether the parts of a node are not mutated: messages, imports, devices, signed numbers."""
    return (
        isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and node.attr in ("device", "dtype"))
        or (isinstance(node, ast.keyword) and node.arg in IGNORED_KEYWORDS)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))
    )


def _replace_in_turn(
    node: ast.AST, part: str, value: object, others: Iterator[object], around: ExpressionContext
) -> Iterator[str]:
    for other in others:
        setattr(node, part, other)
        yield around.where
        setattr(node, part, value)


def _difference(before: str, after: str) -> tuple[str, str]:
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
