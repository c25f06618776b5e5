"""Wrong versions of a reference, made by itself: every one differs from it by one slip of array code.

Mutation libraries (mutmut, cosmic-ray) know the slips of Python at large, none of axes and transpositions,
and start a test command for each mutant; these are trees of the standard library, run in a fork.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from grader.authoring.mutation import order_operators, state_operators
from grader.authoring.mutation.context import ExpressionContext, inside
from grader.authoring.mutation.expression_operators import is_negative, slips
from grader.authoring.mutation.operator_tables import IDLE
from grader.authoring.mutation.statement_operators import is_docstring, omissions

#: Parts of a node that say nothing about what is computed.
SILENT = {"annotation", "returns", "ctx", "type_comment", "bases", "exc", "msg", "type_params"}


@dataclass(frozen=True)
class Mutant:
    """One wrong version: where it differs from the reference, how, and the whole text."""

    where: str
    was: str
    now: str
    source: str

    @property
    def diff(self) -> str:
        """The lines that differ."""
        removed = [f"- {line}" for line in self.was.splitlines()]
        return "\n".join([*removed, *(f"+ {line}" for line in self.now.splitlines())])


def mutants(source: str, detaches: bool = False) -> Iterator[Mutant]:
    """Every version that is one slip away, each once. `detaches` adds those that cut a gradient."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for where in _slipped(tree, ExpressionContext(), detaches):
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text not in seen:
            seen.add(text)
            yield Mutant(where, *_difference(original, text), text)


def _slipped(node: ast.AST, around: ExpressionContext, detaches: bool) -> Iterator[str]:
    """Walk the tree; at each yield it holds one slip, at the place that is named."""
    around = inside(node, around)
    for part, value in ast.iter_fields(node):
        if part in SILENT:
            continue
        if part in ("body", "orelse") and isinstance(value, list):
            cuts = detaches and "." in around.where and not around.where.endswith("__init__")
            yield from _changing(node, part, value, omissions(value, cuts), around)
            for operator in (*state_operators.BODIES, *order_operators.BODIES):
                yield from _changing(node, part, value, operator(value, around), around)
        if part == "decorator_list":
            yield from _changing(
                node, part, value, (value[:i] + value[i + 1 :] for i in range(len(value))), around
            )
        if isinstance(value, list):
            yield from _slipped_list(node, part, value, around, detaches)
        elif isinstance(value, ast.AST):
            yield from _changing(node, part, value, slips(value, around), around)
            yield from _inside(value, around, detaches)


def _slipped_list(
    node: ast.AST, part: str, items: list[ast.AST], around: ExpressionContext, detaches: bool
) -> Iterator[str]:
    for index, item in enumerate(items):
        if isinstance(item, ast.AST) and not is_docstring(item) and not _is_left_open(node, item):
            within = inside(item, around)
            others = ([*items[:index], slip, *items[index + 1 :]] for slip in slips(item, within))
            yield from _changing(node, part, items, others, within)
            yield from _inside(item, around, detaches)


def _is_left_open(node: ast.AST, argument: ast.AST) -> bool:
    """The -1 of `reshape(…, -1)`, which is no axis."""
    return getattr(getattr(node, "func", None), "attr", "") in ("reshape", "view") and is_negative(argument)


def _inside(node: ast.AST, around: ExpressionContext, detaches: bool) -> Iterator[str]:
    """What can slip within a node."""
    if not _says_nothing(node):
        yield from _slipped(node, around, detaches)


def _says_nothing(node: ast.AST) -> bool:
    """A message, an import, whose device or dtype is taken; and a number with its sign has slipped as one."""
    return (
        isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and node.attr in ("device", "dtype"))
        or (isinstance(node, ast.keyword) and node.arg in IDLE)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))
    )


def _changing(
    node: ast.AST, part: str, value: object, others: Iterator[object], around: ExpressionContext
) -> Iterator[str]:
    for other in others:
        setattr(node, part, other)
        yield around.where
        setattr(node, part, value)


def _difference(before: str, after: str) -> tuple[str, str]:
    """The lines that only one of the two has, without their indentation. A line that was moved comes with
    the line that is in front of it now."""
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+- "]
    removed, added = ([line[2:].strip() for line in lines if line[0] == sign] for sign in "-+")
    if removed == added:
        kept = [line for line in lines if line[0] != "-"]
        place = next(index for index, line in enumerate(kept) if line[0] == "+")
        added = [kept[place - 1][2:].strip(), *added]
    return "\n".join(removed), "\n".join(added)
