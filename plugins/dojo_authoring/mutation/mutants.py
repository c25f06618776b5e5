"""Generate the mutants of a reference; each differs from it by one mutation that is typical of array code.

Mutation libraries (mutmut, cosmic-ray) have no operators for axes or transpositions, and start a test command
for each mutant. These mutants are syntax trees, and each runs in a fork.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.edits.candidates import place_of_edit
from grader.edits.walk import changed_lines, mutations


@dataclass(frozen=True)
class Mutant:
    """A mutant: the function that it changes, the lines before and after, its whole source, the family of the
    operator that made it, and the line of the original that it changes."""

    where: str
    was: str
    now: str
    source: str
    family: str = ""
    line: int = 0

    @property
    def diff(self) -> str:
        """The lines that differ, marked with - and +."""
        removed = [f"- {line}" for line in self.was.splitlines()]
        return "\n".join([*removed, *(f"+ {line}" for line in self.now.splitlines())])


def mutants(source: str, *, detaches: bool = False) -> Iterator[Mutant]:
    """Yield every distinct mutant of the source; `detaches` adds those that detach a gradient."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for family, edit in mutations(tree, detaches=detaches):
        text = edit.source(tree)
        if text not in seen:
            seen.add(text)
            line = place_of_edit(edit).line
            yield Mutant(edit.where, *changed_lines(original, text), text, family, line)
