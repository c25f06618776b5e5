"""Look up in a text what a class, a page, an editor, a review or an audit shows of it. A worker is asked none
of this, so it does not load it."""

from __future__ import annotations

import ast
from itertools import islice

from grader.reading import drafts, forms, looks, places
from grader.reading.answers import OF_A_SUBMISSION, Answer, by_name, text_of
from grader.reading.source import parsed, tree_of

LONGEST_COMPARED = 4_000  # lines of a source that is compared: the time grows with their cube


def seeks(data: bytes) -> tuple[list[tuple[int, str]], str]:
    """Return the lines in which a source looks at the judge."""
    tree = tree_of(data.decode("utf-8", "replace"))
    return (looks.looks(tree) if tree else []), ""


def bound(data: bytes, *, names: list[str]) -> tuple[dict[str, tuple[int, int, int]], str]:
    """Return where names are bound at the top of a source."""
    source = text_of(data)
    tree = tree_of(source)
    return (places.bound(tree, source, names) if tree else {}), ""


def outline(data: bytes) -> tuple[Answer, str]:
    """Return what a file of a homework defines and imports, and why it is no Python."""
    source = text_of(data)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        line = f" (line {error.lineno})" if error.lineno else ""
        return {"problem": f"{error.msg}{line}"}, ""
    except (ValueError, RecursionError) as error:
        return {"problem": str(error)}, ""
    return {"defines": places.defined(tree), "imports": [*places.imported(tree)]}, ""


def docstring_lines(data: bytes) -> tuple[list[tuple[int, int]], str]:
    """Return the first and the last line of each docstring of a source."""
    tree = tree_of(text_of(data))
    return ([*places.documented(tree)] if tree else []), ""


def difference(data: bytes, *, after: str, most: int) -> tuple[list[str], str]:
    """Return the first lines of the difference between a source and what it became, up to line 4,000."""
    import difflib  # no other question needs it

    before, now = (text.splitlines()[:LONGEST_COMPARED] for text in (text_of(data), after))
    lines = difflib.unified_diff(before, now, lineterm="")
    return [*islice(lines, 2, most)], ""


def fields(data: bytes) -> tuple[list[forms.Field], str]:
    """Return the constants of a page of questions."""
    return forms.fields(text_of(data)), ""


def fill(data: bytes, *, name: str, value: str) -> tuple[Answer, str]:
    """Return a page of questions with another value of a constant."""
    return {}, forms.filled(text_of(data), name, value)


def draft(data: bytes, *, names: list[str], name: str, todo: str) -> tuple[tuple[str, str], str]:
    """Return a wrong answer as the draft of a known mistake, and the statements that are left out."""
    return drafts.draft(parsed(text_of(data), "The file"), names, name, todo), ""


#: All that a reader is asked.
QUESTIONS = {
    **OF_A_SUBMISSION,
    **by_name(seeks, bound, outline, docstring_lines, difference, fields, fill, draft),
}
