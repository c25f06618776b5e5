"""Generate the mutants of a source; each differs from it by one mutation that is typical of array code.

Mutation libraries (mutmut, cosmic-ray) have no operators for axes or transpositions, and start a test command
for each mutant. These mutants are syntax trees, so a caller runs them as it likes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.edits.candidates import EditPlace, place_of_edit
from grader.edits.walk import FAMILIES, Edit, changed_lines, mutations


@dataclass(frozen=True)
class Mutant:
    """A mutant: the edit of the tree that it is, its whole source and that of the original, both without
    comments, and the family of the operator that made it."""

    edit: Edit
    source: str
    original: str
    family: str

    @property
    def where(self) -> str:
        """The function that it changes."""
        return self.edit.where

    @property
    def place(self) -> EditPlace:
        """The line of the original that it changes, and the kind of the change."""
        return place_of_edit(self.edit)

    @property
    def was(self) -> str:
        """The lines before, without indentation."""
        return self._lines[0]

    @property
    def now(self) -> str:
        """The lines after, without indentation."""
        return self._lines[1]

    @cached_property
    def _lines(self) -> tuple[str, str]:
        return changed_lines(self.original, self.source)

    @property
    def diff(self) -> str:
        """The lines that differ, marked with - and +."""
        removed = [f"- {line}" for line in self.was.splitlines()]
        return "\n".join([*removed, *(f"+ {line}" for line in self.now.splitlines())])


def mutants(
    source: str | ast.Module, *, families: Collection[str] = FAMILIES, detaches: bool = False
) -> Iterator[Mutant]:
    """Yield every distinct mutant of a source, or of its tree, by the operators of some families; `detaches`
    adds those that detach a gradient. Raises SyntaxError."""
    tree = ast.parse(source) if isinstance(source, str) else source
    original = ast.unparse(tree)
    seen = {original}
    for family, edit in mutations(tree, detaches=detaches):
        text = edit.source(tree) if family in families else original
        if text not in seen:
            seen.add(text)
            yield Mutant(edit, text, original, family)
