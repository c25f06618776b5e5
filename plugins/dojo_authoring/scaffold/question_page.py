"""Drafts of a page of questions and of its declaration."""

from __future__ import annotations

import math

from dojo_authoring.scaffold.draft import Draft, filled
from grader.texts.phrases import counted

ROWS = 8
PASSES = 0.75  # the share of its points from which a page passes
Numbers = dict[str, list[int]]


def question_stub(draft: Draft) -> str:
    """Return the draft of a page of questions: the situation, the numbers, and a line for each question."""
    passes = math.ceil(PASSES * len(draft.entries))
    table = _table(_numbers(draft))
    return filled("questions/stub", draft=draft, table=table, rows=ROWS, passes=passes, counted=counted)


def question_declaration(draft: Draft) -> str:
    """Return the draft of the declaration of a page of questions."""
    return filled("questions/declaration", draft=draft, numbers=_numbers(draft))


def _numbers(draft: Draft) -> Numbers:
    """Return a column for each number that the questions are about. No two numbers of a row are equal."""
    names = [name for name in draft.parameters if name != "row"]  # the row has its own number anyway
    return {
        name: [3 + ROWS * place + (5 * row + 3 * place) % ROWS for row in range(ROWS)]
        for place, name in enumerate(names)
    }


def _table(numbers: Numbers) -> str:
    columns = [["row", *range(ROWS)], *([name, *column] for name, column in numbers.items())]
    widths = [max(len(str(cell)) for cell in column) for column in columns]
    lines = zip(*columns, strict=True)
    return "\n".join(
        f"    {'  '.join(f'{cell:<{width}}' for cell, width in zip(line, widths, strict=True))}".rstrip()
        for line in lines
    )
