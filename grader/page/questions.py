"""A page of questions as a form: each constant of the file, the text above it, and a field for its value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

OPEN = "..."


@dataclass(frozen=True)
class Asked:
    """A constant, the comment above it, and its value as it is written; empty if it is not answered."""

    name: str
    text: str
    value: str


def asked_in(source: str) -> list[Asked]:
    """Return the constants of a file in their order; none if it is no Python."""
    lines = source.split("\n")
    found = []
    for node in _constants(source):
        text = _text(node)
        value = ast.get_source_segment(source, node.value) or "" if text is None else text
        comment: list[str] = []
        above = node.lineno - 2
        while above >= 0 and lines[above].startswith("#"):
            comment.insert(0, lines[above].lstrip("# "))
            above -= 1
        beside = lines[(node.end_lineno or node.lineno) - 1].partition("#")[2].strip()
        found.append(Asked(_name(node), " ".join(comment) or beside, "" if value == OPEN else value))
    return found


def with_answer(source: str, name: str, value: str) -> str:
    """Return the file with another value of a constant; `...` for an empty one. What is a text there needs no
    quotes. Raises SyntaxError if the value is no expression."""
    node = next(node for node in _constants(source) if _name(node) == name)
    value = value.strip() if _text(node) is None else repr(value.strip())
    ast.parse(value or OPEN, mode="eval")
    before, after = _split(source, node.value)
    return f"{before}{value or OPEN}{after}"


def _constants(source: str) -> Iterator[ast.Assign]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _name(node) != "ROW":
            yield node


def _text(node: ast.Assign) -> str | None:
    """Return the text that a constant holds; None if it holds something else."""
    value = node.value.value if isinstance(node.value, ast.Constant) else None
    return value if isinstance(value, str) else None


def _name(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0])


def _split(source: str, node: ast.expr) -> tuple[str, str]:
    """Return what stands before an expression and after it; the columns of the tree are in bytes."""
    lines = source.encode().split(b"\n")
    last = (node.end_lineno or node.lineno) - 1
    before = b"\n".join([*lines[: node.lineno - 1], lines[node.lineno - 1][: node.col_offset]])
    after = b"\n".join([lines[last][node.end_col_offset :], *lines[last + 1 :]])
    return before.decode(), after.decode()
