"""What a mistake changes, in the abstract: the smallest nodes that differ, with letters for its variables.

`powers.sum(axis=axis, keepdims=True)` becomes `a.sum(axis=b, keepdims=True)`. What PyTorch calls `dim` and
`torch.sqrt` is written as in NumPy: `axis`, `np.sqrt`. So edits of different katas can be counted together.
"""

from __future__ import annotations

import ast
import builtins
import copy
import string
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from grader.edits.context import with_part
from grader.edits.walk import Edit

Node = Any  # an expression, a statement, or a list of statements
#: Names of the array library and of modules beside it; all are written as `np`.
LIBRARIES = {"np", "torch", "math", "F", "numpy"}
KEPT_NAMES = {*dir(builtins), "np", "nn", "self", "tl"}
#: Expressions for which no letter stands.
UNNAMED = ast.Constant | ast.Starred | ast.Slice | ast.JoinedStr | ast.FormattedValue
KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}


@dataclass(frozen=True)
class Change:
    """The smallest part that differs: the node before and after, and where it stands.

    `owner` is the node around, `part` its field. A body is a list of statements.
    """

    old: Node
    new: Node
    owner: ast.AST
    part: str

    @property
    def pattern(self) -> tuple[str, str]:
        """The code before and after, in the abstract."""
        return abstract(self.old, self.new)


def changes_between(before: ast.Module, after: ast.Module) -> list[Change]:
    """Return the smallest parts in which two trees differ; none if they are the same."""
    return list(_changes(before, after, before, ""))


def change_of(edit: Edit) -> Change:
    """Return the smallest part that an edit changes; the first one if there are several."""
    old, new = edit.old, edit.new
    if isinstance(old, list):
        found = _changes_of_list(old, new, edit.owner, edit.part)
    else:
        found = _changes(old, new, edit.owner, edit.part)
    return next(found, Change(old, new, edit.owner, edit.part))


def _changes_of_list(old: list[Any], new: list[Any], owner: ast.AST, part: str) -> Iterator[Change]:
    if _is_body(old) or _is_body(new):
        yield from _changes_of_body(old, new, owner, part)
    elif len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            if one is not other:
                yield from _changes(one, other, owner, part)
    else:
        other_owner = with_part(owner, part, new)
        yield Change(owner, other_owner, owner, part)


def _changes(old: Node, new: Node, owner: ast.AST, part: str) -> Iterator[Change]:
    if ast.dump(old) == ast.dump(new):
        return
    found = _differing(old, new) if type(old) is type(new) else None
    if found is None or (len(found) > 1 and not isinstance(old, ast.stmt | ast.Module)):
        yield Change(old, new, owner, part)
        return
    for name, one, other in found:
        if isinstance(one, list):
            yield from _changes_of_body(one, other, old, name)
        else:
            yield from _changes(one, other, old, name)


def _differing(old: ast.AST, new: ast.AST) -> list[tuple[str, Any, Any]] | None:
    """Return the children in which two nodes of one type differ, each with the field; None if something else
    differs, such as a number, an operator or how many children there are. A slice is no code by itself."""
    found: list[tuple[str, Any, Any]] = []
    for name in old._fields:
        one, other = getattr(old, name, None), getattr(new, name, None)
        if isinstance(one, list) and isinstance(other, list):
            if [*map(_dump, one)] == [*map(_dump, other)]:
                continue
            if _is_body(one) or _is_body(other):
                found.append((name, one, other))
            elif len(one) == len(other):
                pairs = zip(one, other, strict=True)
                found += [(name, a, b) for a, b in pairs if _dump(a) != _dump(b)]
            else:
                return None
        elif _dump(one) != _dump(other):
            found.append((name, one, other))
    nodes = [node for _, *pair in found for node in pair]
    if not all(isinstance(node, ast.AST | list) for node in nodes):
        return None
    is_code = all(isinstance(node, ast.expr | list) and not _is_slice(node) for node in nodes)
    return found if is_code or isinstance(old, ast.stmt | ast.Module | ast.arguments) else None


def _is_slice(node: Any) -> bool:
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Tuple) and any(map(_is_slice, node.elts)))


def _is_body(items: list[Any]) -> bool:
    return bool(items) and isinstance(items[0], ast.stmt)


def _dump(node: Any) -> str:
    return ast.dump(node) if isinstance(node, ast.AST) else repr(node)


def _changes_of_body(old: list[Any], new: list[Any], owner: ast.AST, part: str) -> Iterator[Change]:
    lines = [*map(_dump, old)], [*map(_dump, new)]
    for what, i, j, k, m in SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        if what == "replace" and j - i == m - k:
            for one, other in zip(old[i:j], new[k:m], strict=True):
                yield from _changes(one, other, owner, part)
        elif what != "equal":
            yield Change(old[i:j], new[k:m], owner, part)


# --- in the abstract --------------------------------------------------------------------------------


def abstract(old: Node, new: Node) -> tuple[str, str]:
    """Return the code of two nodes in the words of NumPy, with the same letters for their variables and for
    longer expressions that both have."""
    shared = _expressions_in(old) & _expressions_in(new)
    names = _Abstract(shared)
    return names.text(old), names.text(new)


def _expressions_in(node: Node) -> set[str]:
    """Return the expressions inside a node that are neither constants nor called."""
    nodes = [one for top in (node if isinstance(node, list) else [node]) for one in ast.walk(top)]
    called = {id(one.func) for one in nodes if isinstance(one, ast.Call)}
    found = [one for one in nodes if isinstance(one, ast.expr) and id(one) not in called]
    return {ast.unparse(one) for one in found if not isinstance(one, UNNAMED)}


class _Abstract(ast.NodeTransformer):
    """Replaces variables, and the expressions in `shared`, by letters in their order."""

    def __init__(self, shared: set[str]) -> None:
        self._shared = shared
        self._letters: dict[str, str] = {}

    def text(self, node: Node) -> str:
        nodes = node if isinstance(node, list) else [node]
        return "\n".join(ast.unparse(self.visit(copy.deepcopy(one))) for one in nodes)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name | ast.Tuple | UNNAMED):
            is_plain = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            if is_plain and (text := ast.unparse(node)) in self._shared:
                return ast.Name(self._letter(text))
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.Name:  # the library gives this name
        if node.id in LIBRARIES:
            return ast.Name("np", node.ctx)
        return node if node.id in KEPT_NAMES else ast.Name(self._letter(node.id), node.ctx)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        name = KEYWORDS.get(node.arg or "", node.arg)
        if name == "axis" and not isinstance(node.value, ast.Tuple):
            return ast.keyword(name, ast.Name(self._letter(f"axis {ast.unparse(node.value)}")))
        return ast.keyword(name, self.visit(node.value))

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._letter(node.arg))

    def _letter(self, name: str) -> str:
        if name not in self._letters:
            number = len(self._letters)
            self._letters[name] = string.ascii_lowercase[number % 26] * (1 + number // 26)
        return self._letters[name]


#: Statements by what a reader calls their lines.
LINES: tuple[tuple[type[ast.AST] | tuple[type[ast.AST], ...], str], ...] = (
    (ast.Return, "return"),
    ((ast.If, ast.While, ast.Assert), "condition"),
    (ast.For, "loop"),
    (ast.Raise, "raise"),
    ((ast.Assign, ast.AugAssign, ast.AnnAssign), "assignment"),
    (ast.FunctionDef, "signature"),
)


def line_of(statement: ast.AST | None) -> str:
    """Return the kind of the line that a statement is, or begins with: `return`, `assignment`, …"""
    return next((name for kind, name in LINES if isinstance(statement, kind)), "other")


def where_in(owner: ast.AST, part: str) -> str:
    """Return where in its owner a node stands, such as `argument of reshape` or `right of Div`."""
    match owner:
        case ast.keyword():
            return f"{KEYWORDS.get(owner.arg or '', owner.arg)}="
        case ast.Call():
            name = getattr(owner.func, "attr", getattr(owner.func, "id", ""))
            return "called" if part == "func" else f"argument of {name}"
        case ast.BinOp():
            return f"{part} of {type(owner.op).__name__}"
        case ast.Subscript():
            return "index" if part == "slice" else "indexed"
        case ast.Attribute():
            return f"object of {owner.attr}"
        case ast.stmt():
            return f"{part} of {line_of(owner)}"
    return f"{part} of {type(owner).__name__}"
