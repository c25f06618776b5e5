"""Cut a function into lines that can be moved: each statement, and each line that opens a block.

Comments, blank lines and the docstring are left out. A statement of several rows stays in one piece.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Statements that are cut; others that hold statements, such as a function inside, are moved in one piece.
Block = ast.If | ast.For | ast.While | ast.With | ast.Try
WITHOUT_NAMES = ("else", "try", "finally")  # lines that open a block and are no code by themselves


@dataclass(frozen=True)
class MovableLine:
    """A piece of code, with its indentation; whether it opens a block; and the numbers of the lines of the
    function in whose blocks it is, from the outside."""

    text: str
    opens: bool
    blocks: tuple[int, ...] = ()

    @property
    def indent(self) -> int:
        """The number of blanks before it."""
        return len(self.text) - len(self.text.lstrip())


@dataclass(frozen=True)
class CutFunction:
    """A source with one function: what stands before its body, its movable lines, and what stands after."""

    head: str
    lines: tuple[MovableLine, ...]
    tail: str

    def assembled(self, lines: list[str]) -> str:
        """Return the source with these lines as the function's body."""
        return self.head + "".join(f"{line}\n" for line in lines) + self.tail


def cut(source: str, name: str) -> CutFunction:
    """Return a source cut at the function of this name. Raises LookupError if it has no such function, or
    other functions or classes beside it."""
    text = without_comments(source)
    tree, rows = ast.parse(text), text.splitlines()
    definitions = [node for node in tree.body if isinstance(node, Function | ast.ClassDef)]
    if len(definitions) != 1 or definitions[0].name != name or isinstance(definitions[0], ast.ClassDef):
        raise LookupError(name)
    function = definitions[0]
    is_told = ast.get_docstring(function, clean=False) is not None
    body = function.body[is_told:]
    first = tree.body[0].end_lineno or 0 if ast.get_docstring(tree) is not None else 0
    end = (function.body[0].end_lineno or 0) if is_told else _first(body[0]) - 1
    head = rows[first : function.body[0].lineno - 1 if is_told else end]
    lines = tuple(_Cutter(rows).lines(body))
    tail = rows[function.end_lineno or len(rows) :]
    return CutFunction(_joined(head), lines, _joined(tail))


def without_comments(source: str) -> str:
    """Return a source with blanks in place of its comments."""
    rows = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            rows[token.start[0] - 1] = rows[token.start[0] - 1][: token.start[1]].rstrip()
    return _joined(rows)


def _joined(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


class _Cutter:
    """Cuts the rows of a source; each line knows the numbers of those that open the blocks around it."""

    def __init__(self, rows: list[str]) -> None:
        self.rows, self.count = rows, 0

    def lines(self, body: list[ast.stmt], blocks: tuple[int, ...] = ()) -> Iterator[MovableLine]:
        for node in body:
            if not isinstance(node, Block) or node.body[0].lineno == node.lineno:
                yield self._line(_first(node), node.end_lineno or node.lineno, blocks)
                continue
            yield from self._block(_first(node), node.body, blocks)
            if isinstance(node, ast.Try):
                for handler in node.handlers:
                    yield from self._block(handler.lineno, handler.body, blocks)
            if isinstance(node, ast.If | ast.For | ast.While | ast.Try) and node.orelse:
                before = [*node.body, *(node.handlers if isinstance(node, ast.Try) else ())]
                if isinstance(node, ast.If) and _is_elif(node):
                    yield from self.lines(node.orelse, blocks)
                else:
                    yield from self._block(self._row_after(before), node.orelse, blocks)
            if isinstance(node, ast.Try) and node.finalbody:
                before = [*node.body, *node.handlers, *node.orelse]
                yield from self._block(self._row_after(before), node.finalbody, blocks)

    def _block(self, first: int, body: list[ast.stmt], blocks: tuple[int, ...]) -> Iterator[MovableLine]:
        """Yield the line that opens a block, and those in it; they are one piece if they share a row."""
        if _first(body[0]) == first:
            yield self._line(first, body[-1].end_lineno or first, blocks)
            return
        opener = self.count
        yield self._line(first, _first(body[0]) - 1, blocks, opens=True)
        yield from self.lines(body, (*blocks, opener))

    def _line(self, first: int, last: int, blocks: tuple[int, ...], *, opens: bool = False) -> MovableLine:
        self.count += 1
        text = "\n".join(row for row in self.rows[first - 1 : last] if row.strip())
        return MovableLine(text, opens, blocks)

    def _row_after(self, nodes: list[ast.stmt | ast.ExceptHandler]) -> int:
        """Return the number of the first row with code after some statements."""
        number = (nodes[-1].end_lineno or 0) + 1
        while not self.rows[number - 1].strip():
            number += 1
        return number


def _first(node: ast.stmt) -> int:
    """Return the number of the first row of a statement, with its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _is_elif(node: ast.If) -> bool:
    one = node.orelse[0]
    return len(node.orelse) == 1 and isinstance(one, ast.If) and one.col_offset == node.col_offset


@dataclass(frozen=True)
class Names:
    """The names that a line reads and those that it sets."""

    read: frozenset[str]
    set: frozenset[str]


def names_in(line: MovableLine) -> Names:
    """Return the names that a line reads, and those that it sets, when it runs: what a comprehension has for
    itself is neither, and a function inside is not called yet."""
    code = textwrap.dedent(line.text)
    if line.opens:
        code += "\n    pass"
        if code.startswith(WITHOUT_NAMES):
            return Names(frozenset(), frozenset())
        if code.startswith("elif"):
            code = code.removeprefix("el")
        if code.startswith("except"):
            code = f"try:\n    pass\n{code}"
    return _names(ast.parse(code))


def _names(node: ast.AST) -> Names:
    match node:
        case ast.Name(name, ast.Load()):
            return Names(frozenset({name}), frozenset())
        case ast.Name(name):
            return Names(frozenset(), frozenset({name}))
        case ast.FunctionDef(name):
            return Names(frozenset(), frozenset({name}))
        case ast.Lambda():
            return Names(frozenset(), frozenset())
    inside = [_names(child) for child in ast.iter_child_nodes(node)]
    read = frozenset().union(*(one.read for one in inside))
    found = frozenset().union(*(one.set for one in inside))
    match node:
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return Names(read - found, frozenset())
        case ast.AugAssign(ast.Name(name)):
            return Names(read | {name}, found)
        case ast.ExceptHandler(name=str(name)):
            return Names(read, found | {name})
    return Names(read, found)
