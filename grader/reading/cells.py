"""Read the cells of a notebook that answer a kata, as plain JSON: without Jupyter and without running code.

A cell answers a kata if it begins with `%%kata NAME`, also below magics that run a cell, such as `%%time`; if
it has no such line, the name is its `grade_id` for nbgrader. Of several such cells the last written one
counts, as when all cells are run; without one, the last stub. Its source is what the kernel runs:
`without_magics` takes out the magics for `%grade`, for `grade FILE` and for `nbgrader autograde` alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from grader.reading.parts import is_idle
from grader.reading.source import LARGEST_NOTEBOOK, Refused, tree_of, utf8

MOST_VALUES = 1_000_000  # in a notebook, which takes a hundred bytes of memory for each
MOST_CELLS = 10_000
MOST_SOURCE = 256 << 10  # bytes of all cells that answer one kata
LARGEST_STUB = 64 << 10  # bytes; a longer cell is no stub
OPENING = re.compile(r"%%kata[ \t]+(\w+)[ \t]*(?:\r?\n|$)")
#: Cell magics whose cell the kernel runs as code.
RUNNING = re.compile(r"%%(?:time|timeit|capture|prun)\b.*(?:\n|$)")
BLANK = re.compile(r"[ \t]*\r?\n")
#: Lines that only a kernel can run: `%magic`, `!command`, `?name`, `name?`; those assigned; those with code.
LINE_MAGIC = re.compile(r"[ \t]*(?:%%?[A-Za-z_]|!|\?+[A-Za-z_]|[A-Za-z_][\w.]*\?{1,2}[ \t]*$)")
ASSIGNED = re.compile(r"([ \t]*[A-Za-z_][\w., \t]*=[ \t]*)(?:!|%[A-Za-z_])")
TIMED = re.compile(r"([ \t]*)%time[ \t]+(?!-)")
#: What a line holds besides code: comments, strings, and brackets that join lines.
TOKEN = re.compile(
    r"""#.*|\\.|(?P<quote>\'{3}|"{3})|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?P<bracket>[][(){}])"""
)

#: The rest of a text in three quotes. An escaped character is one step, so that no text takes long.
CLOSING = {
    quote: re.compile(rf"(?:[^{quote[0]}\\]|\\.|{quote[0]}(?!{quote[1:]}))*+{quote}")
    for quote in ("'''", '"""')
}

OPENED, CLOSED = tuple("([{"), tuple(")]}")

WITH_VALUE = ("--key", "--device")  # options of %grade

Cell = Mapping[str, Any]


def answer_in(cells: list[Cell], kata_name: str, label: str) -> str:
    """Return the code of the cell that answers a kata. Raises Refused if there is none: what the cells hold
    is not known to be an answer."""
    answer = answer_to(kata_name, cells)
    if answer is None:
        raise Refused(f"{label} holds no answer: no cell begins with %%kata {kata_name}.", unread=True)
    return answer


def answer_to(kata_name: str, cells: Iterable[Cell]) -> str | None:
    """Return the code of the cell that counts, without its magic, or None if no cell answers the kata."""
    own = [code for marked, named, code in _opened(cells) if kata_name == (named or marked)]
    if sum(map(len, own)) > MOST_SOURCE:
        text = f"The cells of {kata_name} hold more than {MOST_SOURCE >> 10} KiB of code."
        raise Refused(text, unread=True)
    answers = list(map(without_magics, own))
    written = [answer for answer in answers if len(answer) > LARGEST_STUB or not is_stub(answer)]
    return next(iter((written or answers)[-1:]), None)


def _opened(cells: Iterable[Cell]) -> Iterator[tuple[str, str, str]]:
    """Yield the `grade_id` of each code cell, the kata that it names, and its code."""
    for cell in cells:
        if cell.get("cell_type") == "code":
            yield grade_id(cell), *opening_of(text_of(cell))


def is_stub(code: str) -> bool:
    """True if nothing is written in the code of a cell yet."""
    tree = tree_of(code)
    return tree is not None and is_idle(tree)


def answered_in(cells: list[Cell], names: Iterable[str]) -> list[str]:
    """Return the katas of these names that the cells answer."""
    answered = {named or marked for marked, named, _ in _opened(cells)}
    return [name for name in names if name in answered]


def grade_id(cell: Cell) -> str:
    """Return nbgrader's `grade_id` of a cell, or an empty text if it has none."""
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
    name = marks.get("grade_id") if isinstance(marks, Mapping) else None
    return name if isinstance(name, str) else ""


def text_of(cell: Cell) -> str:
    """Return a cell's source, which a notebook stores as a text or as a list of lines."""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def opening_of(source: str) -> tuple[str, str]:
    """Return the kata that a cell names by `%%kata`, or "", and its code, with an empty line in place of each
    magic above it, so that line numbers stay the same. Magics that run the cell may stand above or below."""
    name, at, above = "", 0, 0
    while found := BLANK.match(source, at) or RUNNING.match(source, at) or OPENING.match(source, at):
        if found.re is OPENING and name:
            break
        name = found[1] if found.re is OPENING else name
        at, above = found.end(), above + 1
    return (name, "\n" * above + source[at:]) if name else ("", source)


def without_magics(source: str) -> str:
    """Return the code of a cell that the kernel runs, without what only a kernel can run.

    `%time f(x)` becomes `f(x)`, what is assigned from a magic or a command is None, and any other such line
    is `pass` and a comment. A source without such lines, and valid Python, stays as it is.
    """
    source = opening_of(f"%%kata _\n{source}")[1][1:] if source.lstrip().startswith("%%") else source
    lines, within, depth = source.split("\n"), "", 0
    is_code = is_joined = False  # by a backslash at the end of a line of code, or of a magic
    for number, line in enumerate(lines):
        begins = not within and depth <= 0 and not is_code
        if is_joined or (begins and (LINE_MAGIC.match(line) or ASSIGNED.match(line))):
            lines[number] = "" if is_joined else _as_code(line)
            is_joined = line.endswith("\\")
        else:
            within, depth = _state_after(line, within, depth)
            is_code = line.endswith("\\")
    changed = "\n".join(lines)
    return changed if changed != source and tree_of(source) is None else source


def _as_code(line: str) -> str:
    """Return a line with a magic as Python."""
    if timed := TIMED.match(line):
        return timed[1] + line[timed.end() :]
    if assigned := ASSIGNED.match(line):
        return f"{assigned[1]}None  # {line.strip()}"
    return f"{line[: len(line) - len(line.lstrip())]}pass  # {line.strip()}"


def _state_after(line: str, within: str, depth: int) -> tuple[str, int]:
    """Return the quotes of the text that is open after a line, or "", and how many brackets are."""
    at = 0
    while at < len(line):
        if within:
            end = CLOSING[within].match(line, at)
            if end is None:
                return within, depth
            at, within = end.end(), ""
        elif found := TOKEN.search(line, at):
            at, within = found.end(), found["quote"] or ""
            depth += (found["bracket"] in OPENED) - (found["bracket"] in CLOSED)
        else:
            break
    return within, depth


def katas_asked(source: str) -> list[str]:
    """Return the katas that a cell grades with `%grade`."""
    words = [line.split() for line in source.splitlines() if line.startswith("%grade")]
    pairs = [pair for line in words for pair in pairwise(line)]
    return [word for before, word in pairs if not word.startswith("-") and before not in WITH_VALUE]


def cells_in(data: bytes, label: str) -> list[Cell]:
    """Return all cells of a notebook given as bytes. Raises Refused if it is not a notebook, or holds so
    many values that reading them would take all memory."""
    text = utf8(data, label, LARGEST_NOTEBOOK)
    if sum(map(text.count, "{[,")) > MOST_VALUES:
        raise _unread(f"{label} holds more than {MOST_VALUES:,} values; clear its outputs and save it.")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError, MemoryError):
        raise _unread(f"{label} is no notebook, or a damaged one: it cannot be read as JSON.") from None
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list):
        raise _unread(f"{label} holds no cells; open it in Jupyter and save it as a notebook of version 4.")
    if len(cells) > MOST_CELLS:
        raise _unread(f"{label} holds more than {MOST_CELLS:,} cells.")
    return [cell for cell in cells if isinstance(cell, dict)]


def _unread(text: str) -> Refused:
    return Refused(text, unread=True)
