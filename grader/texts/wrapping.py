"""Wrap texts at words, and code after commas.

A word that is longer than a line keeps whole, so that it can be copied. So does code in a text: what stands
between backticks, if it fits in a line, and a line that is indented as code is, unless it has columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A word, after the gap before it; a no-break space is no gap.
WORD = re.compile(r"([ \t\n\r\f\v]*)([^ \t\n\r\f\v]+)")
#: The same; code between backticks, with what stands before and behind it, is one word.
WORD_OR_CODE = re.compile(r"([ \t\n\r\f\v]*)((?:`[^`\n]+`|[^ \t\n\r\f\v])+)")
CODE_INDENT, COMMENT = " " * 4, "  # "
#: What goes on with a block of Python code at the margin.
BLOCK_GOES_ON = ("else", "elif ", "except", "finally")


def words(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Return the lines of a paragraph: `first` before the first one, `rest`, or else the same, before the
    others. The standard library's `textwrap` takes milliseconds to import."""
    lead = first if rest is None else rest
    lines: list[str] = []
    line, is_empty = first, True
    for gap, word in _words(text, width - len(lead)):
        if not is_empty and len(line) + len(gap) + len(word) > width:
            lines.append(line)
            line, gap = lead, ""
        line, is_empty = line + " " * len(gap) + word, False
    return lines if is_empty else [*lines, line]


def _words(text: str, room: int) -> Iterator[tuple[str, str]]:
    """Yield the words of a text, each after the gap before it; code is one word if there is room for it."""
    for gap, word in WORD_OR_CODE.findall(text):
        if len(word) <= room:
            yield gap, word
        else:
            first, *others = WORD.findall(word)
            yield gap, first[1]
            yield from others


def paragraphs(text: str, width: int) -> str:
    """Return a text with every line that is too long wrapped, and indented as it was; code is not wrapped."""
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
    if len(line) <= width or is_code(line):
        return [line]
    return words(line.strip(), width, line[: len(line) - len(line.lstrip())])


def is_code(line: str) -> bool:
    """Return whether a line of a text is indented as code is, and no row of a table."""
    return line.startswith(CODE_INDENT) and ("  " not in line.strip() or COMMENT in line)


def for_prompt(code: str) -> str:
    """Return code as Python's prompt takes it where it is pasted: an empty line ends each block, and none
    stands inside of one."""
    lines: list[str] = []
    in_block = False
    for line in code.splitlines():
        if in_block and not line:
            continue
        at_margin = not line[:1].isspace() and not line.startswith(BLOCK_GOES_ON)
        if in_block and at_margin:
            lines.append("")
        in_block = line.endswith(":") if at_margin else in_block
        lines.append(line)
    return "\n".join(lines)


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
