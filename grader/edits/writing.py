"""Write edits of a tree into the text that it was parsed from: comments and all other lines stay."""

from __future__ import annotations

import ast
import textwrap
from contextlib import suppress
from typing import Any

from grader.edits.walk import Edit


class EditWriter:
    """Writes edits of a tree into the text that it was parsed from."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        """Take a source and its tree."""
        self._tree, self._lines = tree, [line.encode() for line in source.split("\n")]
        self._parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def text_with(self, edit: Edit, due: str = "") -> str:
        """Return the text with an edit in the smallest expression or statements that can hold it; "" if none
        can. `due` is `edit.source` of the tree, if a caller has it."""
        due = due or edit.source(self._tree)
        if isinstance(edit.new, list) and edit.part in ("body", "orelse", "finalbody"):
            return self._with_statement(edit, due) or self._with_body(edit, due)
        old, changed = _only_item(edit.old, edit.new)
        node = edit.owner
        new = _code(changed) if isinstance(changed, ast.AST) else ""
        if new and isinstance(old, ast.expr) and (text := self._as(old, new, due)):
            return text
        while not isinstance(node, ast.mod) and not hasattr(node, "body"):
            if isinstance(node, ast.expr | ast.stmt) and (text := self._as(node, _edited(node, edit), due)):
                return text
            node = self._parents.get(id(node), self._tree)
        return ""

    def _with_statement(self, edit: Edit, due: str) -> str:
        """Return the text where one simple statement is another one."""
        if len(edit.old) != len(edit.new):
            return ""
        pairs = [(old, new) for old, new in zip(edit.old, edit.new, strict=True) if old is not new]
        if len(pairs) != 1 or hasattr(pairs[0][0], "body"):
            return ""
        return self._as(pairs[0][0], _code(pairs[0][1]), due)

    def _with_body(self, edit: Edit, due: str) -> str:
        """Return the text where some statements of a body have gone, come or changed places."""
        if not edit.old or not edit.new:
            return ""
        kept = {id(node): self._lines_of(node) for node in edit.old}
        indent = " " * edit.old[0].col_offset
        new = [
            line
            for node in edit.new
            for line in kept.get(id(node)) or textwrap.indent(_code(node), indent).encode().split(b"\n")
        ]
        first, last = _first_line(edit.old[0]) - 1, edit.old[-1].end_lineno or 0
        text = b"\n".join([*self._lines[:first], *new, *self._lines[last:]]).decode()
        return text if _means(text, due) else ""

    def _lines_of(self, node: ast.stmt) -> list[bytes]:
        return self._lines[_first_line(node) - 1 : node.end_lineno]

    def _as(self, node: ast.expr | ast.stmt, new: str, due: str) -> str:
        """Return the text with `new` in place of a node, in brackets if they are needed, if that means what
        is due; else ""."""
        for code in (new, f"({new})") if new else ():
            text = self._spliced(node, code)
            if _means(text, due):
                return text
        return ""

    def _spliced(self, node: ast.expr | ast.stmt, new: str) -> str:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = self._lines[first][: node.col_offset]
        after = self._lines[last][node.end_col_offset :]
        lines = [*self._lines[:first], before + new.encode() + after, *self._lines[last + 1 :]]
        return b"\n".join(lines).decode()


def _only_item(old: Any, new: Any) -> tuple[Any, Any]:
    """Return the item in which two lists differ, if it is the only one; else what was given."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [pair for pair in zip(old, new, strict=True) if pair[0] is not pair[1]]
        if len(pairs) == 1:
            return pairs[0]
    return old, new


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _means(text: str, due: str) -> bool:
    """Return whether a text is Python that means what is due."""
    with suppress(SyntaxError, ValueError):
        return ast.unparse(ast.parse(text)) == due
    return False


def _code(node: ast.AST) -> str:
    ast.fix_missing_locations(node)
    with suppress(ValueError, AttributeError):  # an operator alone is no code
        return ast.unparse(node)
    return ""


def _edited(node: ast.expr | ast.stmt, edit: Edit) -> str:
    """Return the code of a node with an edit inside it."""
    setattr(edit.owner, edit.part, edit.new)
    try:
        return _code(node)
    finally:
        setattr(edit.owner, edit.part, edit.old)
