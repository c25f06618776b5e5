"""The constants of a page of questions as the fields of a form."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.reading.parts import segment
from grader.reading.source import Refused, tree_of

OPEN = "..."
#: Functions that an answer may call, beside what its file defines.
FUNCTIONS = {
    "abs",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "pow",
    "range",
    "round",
    "sorted",
    "sum",
    "tuple",
}
Field = tuple[str, str, str]


def fields(source: str) -> list[Field]:
    """Return the constants of a source in their order, each with the comment above it and its value as it is
    written, which is empty if it is not answered; none if the source is no Python. Of several constants in
    one line the first one has the comment."""
    lines, code = source.split("\n"), source.encode().splitlines(keepends=True)
    found: list[Field] = []
    line = 0  # of the constant before
    for node in _constants(source):
        text = _text(node)
        value = segment(code, node.value) if text is None else text
        comment = "" if node.lineno == line else _comment(lines, node)
        found.append((_name(node), comment, "" if value == OPEN else value))
        line = node.lineno
    return found


def _comment(lines: list[str], node: ast.Assign) -> str:
    """Return the comment above a constant, or the one beside it."""
    comment: list[str] = []
    above = node.lineno - 2
    while above >= 0 and lines[above].startswith("#"):
        comment.append(lines[above].lstrip("# "))
        above -= 1
    beside = lines[(node.end_lineno or node.lineno) - 1].partition("#")[2].strip()
    return " ".join(reversed(comment)) or beside


def filled(source: str, name: str, value: str) -> str:
    """Return a source with another value of a constant; `...` for an empty one. What is a text there needs no
    quotes. Raises Refused if the value is no expression, or holds a name that nothing has defined."""
    node = next((node for node in _constants(source) if _name(node) == name), None)
    if node is None:
        raise Refused(f"There is no constant {name}.")
    value = value.strip() if _text(node) is None else repr(value.strip())
    try:
        tree = ast.parse(value or OPEN, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused("The value is no expression.") from None
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    if unknown := sorted(names - FUNCTIONS - _defined(source)):
        raise Refused(f"{unknown[0]} is no name of this page.")
    before, after = _split(source, node.value)
    return f"{before}{value or OPEN}{after}"


def _constants(source: str) -> Iterator[ast.Assign]:
    tree = tree_of(source)
    for node in tree.body if tree else []:
        if isinstance(node, ast.Assign) and _name(node) not in ("", "ROW"):
            yield node


def _defined(source: str) -> set[str]:
    """Return the names that the file assigns or imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {one.asname or one.name.partition(".")[0] for one in node.names}
    return found


def _text(node: ast.Assign) -> str | None:
    """Return the text that a constant holds; None if it holds something else."""
    value = node.value.value if isinstance(node.value, ast.Constant) else None
    return value if isinstance(value, str) else None


def _name(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _split(source: str, node: ast.expr) -> tuple[str, str]:
    """Return what stands before an expression and after it; the columns of the tree are in bytes."""
    lines = source.encode().split(b"\n")
    last = (node.end_lineno or node.lineno) - 1
    before = b"\n".join([*lines[: node.lineno - 1], lines[node.lineno - 1][: node.col_offset]])
    after = b"\n".join([lines[last][node.end_col_offset :], *lines[last + 1 :]])
    return before.decode(), after.decode()
