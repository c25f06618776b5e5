"""Wrap texts at words, and code after commas.

A word that is longer than a line keeps whole, so that it can be copied.
"""

from __future__ import annotations

import re

WORD = re.compile(r"([ \t\n\r\f\v]*)([^ \t\n\r\f\v]+)")  # after the gap before it; a no-break space is no gap


def words(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Return the lines of a paragraph: `first` before the first one, `rest`, or else the same, before the
    others. The standard library's `textwrap` takes milliseconds to import."""
    lead = first if rest is None else rest
    lines: list[str] = []
    line, is_empty = first, True
    for gap, word in WORD.findall(text):
        if not is_empty and len(line) + len(gap) + len(word) > width:
            lines.append(line)
            line, gap = lead, ""
        line, is_empty = line + " " * len(gap) + word, False
    return lines if is_empty else [*lines, line]


def paragraphs(text: str, width: int) -> str:
    """Return a text with every line that is too long wrapped, and indented as it was."""
    return "\n".join(part for line in text.split("\n") for part in _line(line, width))


def reflowed(text: str, width: int) -> str:
    """Return a text whose paragraphs are wrapped anew if a line of it is too long; indented lines stay."""
    if max(map(len, text.split("\n"))) <= width:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        goes_on = line and lines and lines[-1] and not line[0].isspace() and not lines[-1][0].isspace()
        lines[-1:] = [f"{lines[-1]} {line}"] if goes_on else [*lines[-1:], line]
    return paragraphs("\n".join(lines), width)


def _line(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    return words(line.strip(), width, line[: len(line) - len(line.lstrip())])


def code_lines(text: str, width: int, lead: str = "") -> list[str]:
    """Return the lines of a code, indented; one that is too long goes on after a comma inside brackets."""
    return [part for line in text.splitlines() for part in _code_line(line, width, lead)]


def _code_line(line: str, width: int, lead: str) -> list[str]:
    if len(lead) + len(line) <= width:
        return [lead + line]
    if line.startswith("#"):
        return words(line, width, lead, f"{lead}# ")
    inside = lead + " " * (4 + len(line) - len(line.lstrip()))
    lines, indent = [], lead
    breaks = _breaks(line)
    begin = 0
    while len(indent) + len(line) - begin > width:
        room = begin + width - len(indent) + 1
        fits = [(depth, at) for at, depth in breaks if begin < at <= room]
        late = [pair for pair in fits if pair[1] - begin > (room - begin) // 2] or fits
        later = [at for at, _ in breaks if at > begin]
        if not later:
            break
        at = min(late, key=lambda pair: (pair[0], -pair[1]))[1] if late else later[0]
        lines.append(indent + line[begin:at].rstrip())
        begin, indent = at, inside
    return [*lines, indent + line[begin:]]


def _breaks(line: str) -> list[tuple[int, int]]:
    """Return where a line of code may go on in a new line, and inside how many brackets that is."""
    found, depth, quote = [], 0, ""
    for at, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
            if depth and line.startswith(", ", at):
                found.append((at + 2, depth))
    return found
