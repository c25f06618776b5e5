"""The statement of a kata as Markdown, and its stub without it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby


def without_statement(stub: str) -> str:
    """Return the stub without its module docstring, which states the exercise."""
    statement = ast.parse(stub).body[0]
    return "\n".join(stub.splitlines()[statement.end_lineno :]).strip("\n")


INDENT = "    "
HEADINGS = ("Example", "What goes wrong", "What must hold", "Source")
CODE = re.compile(r"(`[^`]*`)")
SPECIAL = re.compile(r"([\\*_\[\]<>$#|~])")
EMPHASIS = re.compile(r"(?<![\w*\\])\\\*([A-Za-z]+(?:[ -][A-Za-z]+)*)\\\*(?![\w*\\])")  # once escaped


def to_markdown(docstring: str) -> str:
    """Return the docstring as Markdown: a title, code blocks, and paragraphs with known headings in bold."""
    title, *lines = docstring.strip().splitlines()
    return "\n".join([f"## {escape(title.rstrip('.'))}", *_blocks(lines)]) + "\n"


def _blocks(lines: list[str]) -> Iterator[str]:
    joined = _with_indented_blank_lines(lines)
    for is_code, block in groupby(joined, key=lambda line: line.startswith(INDENT)):
        if is_code:
            code = [line[4:].rstrip() for line in block]
            longest = max(map(len, re.findall("`+", "\n".join(code))), default=0)
            fence = "`" * max(3, longest + 1)
            yield from (f"{fence}text", *code, fence)
        else:
            yield from map(_text, block)


def _with_indented_blank_lines(lines: list[str]) -> list[str]:
    """Indent each blank line between two indented lines, so that it stays inside their block."""
    shown, before = [], ""
    for index, line in enumerate(lines):
        after = next((later for later in lines[index:] if later.strip()), "")
        before = line if line.strip() else before
        is_inner = before.startswith(INDENT) and after.startswith(INDENT)
        shown.append(line if line.strip() or not is_inner else INDENT)
    return shown


def _text(line: str) -> str:
    lead, _, rest = line.partition(":")
    first, _, second = lead.partition(", ")
    if first in HEADINGS and not second and rest[:1] in ("", " "):
        return f"**{lead}:**{_prose(rest)}"
    bullet = re.match(r"- |  (?=\S)", line)
    start = bullet[0] if bullet else ""
    return start + _prose(line[len(start) :])


def _prose(text: str) -> str:
    """Return the text escaped, with its *words* as emphasis."""
    return EMPHASIS.sub(r"*\1*", escape(text))


def escape(text: str) -> str:
    """Escape Markdown's special characters, except inside backticks."""
    pieces = CODE.split(text)
    return "".join(piece if index % 2 else SPECIAL.sub(r"\\\1", piece) for index, piece in enumerate(pieces))
