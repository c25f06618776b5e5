"""Entries of `mistakes.edits`: from a changed reference to its edits, to text, and into the file."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from grader.course.files import read, shorten, write_whole
from grader.course.mistake_edits import DRAFT, EditedMistake, LineEdit, parse_edits
from grader.errors import CourseError, KataError, reason_of

WIDTH = 110  # columns of a sentence
MOST_CONTEXT = 3  # lines on either side that make an edit the only one of its kind
COMMENT = re.compile(r"\s+#[^\"']*$")
HEAD = "# What goes wrong in {name}, as edits of the reference. The sentence is what the student is told.\n"


def edits_between(reference: str, changed: str) -> list[LineEdit]:
    """Return the shortest edit that makes the changed text of the reference; an empty list if none does."""
    due = ast.dump(ast.parse(changed))
    for old, new in _attempts(reference, changed):
        edit = LineEdit(0, old, new)
        with suppress(KataError):
            mistake = EditedMistake("draft", "ordinary", Path(), 0, edits=[edit])
            if ast.dump(ast.parse(mistake.applied(reference))) == due:
                return [edit]
    return []


def _attempts(reference: str, changed: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield what may be replaced, and what by, the shortest first: a part of a line, lines, more lines."""
    before, after = reference.splitlines(), changed.splitlines()
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) == len(new) == 1 and (old[0] + new[0]).isascii():
        yield from _parts_of_a_line(ast.parse(reference), start + 1, old[0], new[0])
    for wider in range(MOST_CONTEXT + 1):
        for back in range(wider + 1):
            first, last = start - back, len(before) - end + wider - back
            if first < 0 or last > len(before) or first == last:
                continue
            yield from _whole_lines(before[first:last], after[first : last + len(after) - len(before)])


def _common(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _parts_of_a_line(
    tree: ast.Module, number: int, old: str, new: str
) -> Iterator[tuple[list[str], list[str]]]:
    start, end = _common([*old], [*new]), _common([*old[::-1]], [*new[::-1]])
    end = min(end, len(old) - start, len(new) - start)
    spans = {
        (node.col_offset, node.end_col_offset or 0)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and node.lineno == node.end_lineno == number
    }
    for first, last in sorted(spans, key=lambda span: span[1] - span[0]):
        if first <= start and last >= len(old) - end:
            part = new[first : len(new) - (len(old) - last)]
            if _is_expression(part):
                yield [old[first:last]], [part]


def _is_expression(text: str) -> bool:
    with suppress(SyntaxError, ValueError):
        ast.parse(text, mode="eval")
        return True
    return False


def _whole_lines(old: list[str], new: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    if not old[0].strip():
        return
    indent = old[0][: len(old[0]) - len(old[0].lstrip())]
    if all(line.startswith(indent) or not line.strip() for line in [*old, *new]):
        yield _without_comments(old, indent), _without_comments(new, indent)


def _without_comments(lines: list[str], indent: str) -> list[str]:
    return [COMMENT.sub("", line[len(indent) :]).rstrip() for line in lines]


def written(draft: EditedMistake) -> str:
    """Return the text of an entry, as it stands in `mistakes.edits`."""
    words = [f"[{draft.name}]", DRAFT * draft.is_draft, draft.level * (draft.level != "ordinary")]
    lines = [" ".join(filter(None, words)), *wrapped(draft.text)]
    for at, edit in enumerate(draft.edits):
        lines += [""] if at and not (draft.edits[at - 1].new and edit.old) else []
        lines += [f"- {line}".rstrip() for line in edit.old] + [f"+ {line}".rstrip() for line in edit.new]
    return "\n".join(lines) + "\n"


def wrapped(sentence: str) -> list[str]:
    """Return a sentence as lines, none of which would begin an entry, a comment or an edit."""
    lines = textwrap.wrap(sentence, WIDTH, break_long_words=False, break_on_hyphens=False)
    if any(line.startswith(("[", "#", "- ", "+ ")) or line in ("-", "+") for line in lines):
        return [" ".join(sentence.split())]
    return lines


def append(path: Path, name: str, drafts: Sequence[EditedMistake]) -> None:
    """Add entries at the end of a file of mistakes, whole or not at all. A kata's file that does not exist is
    begun. Raises KataError if what is there cannot be read, or has one of the names, and CourseError if the
    file cannot be written."""
    before = read(path) if path.is_file() else HEAD.format(name=name)
    text = "\n\n".join([before.rstrip("\n"), *(written(draft).rstrip("\n") for draft in drafts)]) + "\n"
    parse_edits(text, path)
    text = re.sub(r"\r?\n", "\r\n", text) if "\r\n" in before else text
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise CourseError(f"{shorten(path)} cannot be written: {reason_of(error)}.") from None
