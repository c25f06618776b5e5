"""The edits of a reference that may be mistakes, the likeliest first."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path

from dojo_authoring.drafted_mistakes.changes import Change, change_of
from dojo_authoring.drafted_mistakes.entries import edits_between
from dojo_authoring.drafted_mistakes.table import Table, class_of, edits_of, lines_of
from grader.course.mistake_edits import EditedMistake, LineEdit
from grader.edits.walk import Edit
from grader.edits.writing import EditWriter
from grader.errors import KataError

NEXT_OF_LINE = 0.8  # of its rate that an edit keeps for each one of its line that comes before
AT_ONCE = 0.5  # of the rate of an edit that the same edit at all its places has
MOST_PLACES = 4
CALLED = re.compile(r"\.\w+\(")


@dataclass(frozen=True)
class Candidate:
    """An edit of the reference, or the same edit at several places; what it changes at the first, the
    function and the line that it changes, and the entry's edits."""

    change: Change
    kind: str
    where: str
    line: int
    edits: tuple[LineEdit, ...]
    places: int = 1

    def as_draft(self, name: str, text: str, level: str, path: Path) -> EditedMistake:
        """Return the entry with a name, a sentence and a level."""
        return EditedMistake(name, level, path, 0, text.split(), [*self.edits], is_draft=True)


@dataclass(frozen=True)
class _Rated:
    edit: Edit
    source: str
    change: Change
    kind: str
    line: int
    rate: float
    pattern: str


def candidates(source: str, library: str, table: Table) -> Iterator[Candidate]:
    """Yield the candidates of a reference, the likeliest first; the lines take turns. Raises SyntaxError."""
    tree = ast.parse(source)
    writer, lines = EditWriter(source, tree), lines_of(tree)
    rated = [_rated(edit, text, table, lines) for edit, text in edits_of(tree, table.rewrites, library)]
    groups: dict[str, list[_Rated]] = {}
    for one in rated:
        if one.pattern:
            groups.setdefault(one.pattern, []).append(one)
    queue: list[tuple[float, int, Sequence[_Rated]]] = [
        (-one.rate, at, (one,)) for at, one in enumerate(rated)
    ]
    for group in groups.values():
        together = _together(group)
        if 1 < len(together) <= MOST_PLACES:
            queue.append((-max(one.rate for one in together) * AT_ONCE, len(queue), together))
    heapify(queue)
    taken: dict[int, int] = {}
    while queue:
        rate, number, chosen = heappop(queue)
        one = chosen[0]
        due = max(part.rate for part in chosen) * (AT_ONCE if len(chosen) > 1 else 1.0)
        due *= NEXT_OF_LINE ** taken.get(one.line, 0)
        if due < -rate:
            heappush(queue, (-due, number, chosen))
            continue
        if edits := _written(source, writer, chosen):
            taken[one.line] = taken.get(one.line, 0) + 1
            yield Candidate(one.change, one.kind, one.edit.where, one.line, edits, len(chosen))


def _rated(edit: Edit, source: str, table: Table, lines: dict[int, ast.stmt]) -> _Rated:
    change = change_of(edit)
    kind, key = class_of(edit, change, lines)
    nodes = change.old if isinstance(change.old, list) else [change.old]
    numbers = [node.lineno for node in (*nodes, change.owner) if hasattr(node, "lineno")]
    line = numbers[0] if numbers else 1
    pattern = CALLED.sub(".f(", " => ".join(key[1:])) if len(key[1]) > 1 else ""
    return _Rated(edit, source, change, kind[0], line, table.rate(kind, key), pattern)


def _together(group: list[_Rated]) -> list[_Rated]:
    """Return the edits of one pattern at different places."""
    found: dict[int, _Rated] = {}
    for one in group:
        found.setdefault(one.line, one)
    return list(found.values())


def _written(source: str, writer: EditWriter, together: Sequence[_Rated]) -> tuple[LineEdit, ...]:
    """Return the entry's edits; none if the text cannot hold them."""
    edits: list[LineEdit] = []
    for one in together:
        text = writer.text_with(one.edit)
        found = edits_between(source, text) if text else []
        if not found:
            return ()
        edits += found
    if len(together) > 1:
        try:
            EditedMistake("draft", "ordinary", Path(), 0, edits=edits).applied(source)
        except KataError:
            return ()
    return tuple(edits)
