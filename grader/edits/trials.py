"""The edits of a submission in the order in which a search tries them, and the sources that they give."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Any

from grader.edits.additions import Additions
from grader.edits.walk import Edit, Spot, slips_at, spots

UNREAD_STEP = 0.2  # of the cost of an edit that uses a name which is bound and never read; of others 1
NOT_RUN = 40  # how many candidates go before the edits of a line that does not run in the failing call
FAR = 15  # how many go at most before those of a line that is far from the one that raised


@dataclass(frozen=True)
class Trace:
    """The lines that ran in a failing call, the line that raised an exception, 0 if none did, and the keys of
    the dictionaries among the arguments."""

    lines: frozenset[int] = frozenset()
    raised: int = 0
    keys: tuple[str, ...] = ()

    def delay(self, line: int) -> int:
        """Return how many candidates go before an edit of this line: more where a mistake is less likely."""
        if self.lines and line not in self.lines:
            return NOT_RUN
        return min(abs(self.raised - line), FAR) if self.raised else 0


class Sources:
    """The sources of a tree's edits. The file is written once, and only the statement of an edit anew."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree, self.plain = tree, ast.unparse(tree)
        self._lines = self.plain.splitlines()
        self._statement_of: dict[int, tuple[ast.stmt, ast.stmt]] = {}  # in the tree, and as it is written
        for own, written in zip(_statements(tree), _statements(ast.parse(self.plain)), strict=True):
            is_elif = self._lines[written.lineno - 1].lstrip().startswith("elif ")
            if not isinstance(own, ast.FunctionDef | ast.ClassDef) and not is_elif:
                self._statement_of |= {id(node): (own, written) for node in ast.walk(own)}

    def of(self, edit: Edit) -> str:
        """Return the source of the file with an edit."""
        if id(edit.owner) not in self._statement_of:
            return edit.source(self.tree)
        own, written = self._statement_of[id(edit.owner)]
        changed = textwrap.indent(edit.source(own), " " * written.col_offset)
        end = written.end_lineno or written.lineno
        return "\n".join([*self._lines[: written.lineno - 1], changed, *self._lines[end:]])


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a tree, the outer ones first."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def ranked(tree: ast.Module, library: str, trace: Trace) -> Iterator[Edit]:
    """Yield the edits, one of each place in turn; places that the trace makes less likely come later."""
    additions = Additions(tree, library, trace.lines, trace.keys)
    queue: list[tuple[float, int, Iterator[Any], Spot, float]] = []
    for spot in spots(tree):
        line = getattr(spot.node, "lineno", getattr(spot.owner, "lineno", 0))
        start = trace.delay(line)
        for delay, step, others in (
            (0.0, 1.0, slips_at(spot)),
            (0.5, UNREAD_STEP, additions.with_unread_names(spot)),
            (0.5, UNREAD_STEP, additions.of_statements(spot)),
            (1.0, 1.0, additions.at(spot)),
        ):
            queue.append((start + delay, len(queue), others, spot, step))
    heapify(queue)
    while queue:
        cost, number, others, spot, step = queue[0]
        try:
            edit = spot.edit(next(others))
            heapreplace(queue, (cost + step, number, others, spot, step))
        except StopIteration:
            heappop(queue)
            continue
        yield edit
