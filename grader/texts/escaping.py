"""Escape texts of a submission for terminals, Markdown and logs; Jinja2 escapes those of pages.

An exception's message, a value of a result and a printed line come from the code of a submission. They may
contain control sequences of a terminal, marks that reverse the direction of reading, lines that a host runs
as commands, or markup that ends a table or opens a tag.
"""

from __future__ import annotations

import html
import re

CUT_MARK = " …"
#: Characters with a meaning in Markdown or in a host's dialect of it; `@` mentions people, `#` issues.
MARKUP = re.compile(r"[\\`*_\[\]#|~@$]")
CONTROL_PICTURES = {code: chr(0x2400 + code) for code in range(32)} | {127: "\u2421"}
LINE_END = re.compile("\r\n?")
#: Commands of continuous integration: `::error` at the start of a line; `##[error]`, `##vso[…]` anywhere.
HOST_COMMAND = re.compile(r"^([ \t]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


def harmless(text: str, *, one_line: bool = False) -> str:
    """Return the text with unprintable characters escaped and commands of a host made ineffective.

    Line ends and tabs are kept unless `one_line` is true."""
    return without_commands(_escape(text, "") if one_line else _escape(LINE_END.sub("\n", text), "\n\t"))


def without_commands(text: str) -> str:
    """Return the text with a space inserted into whatever a host would run as a command."""
    return HOST_COMMAND.sub(lambda found: "# " if found[0] == "#" else f"{found[1]}: ", text)


def _escape(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else _escape_character(c) for c in text)


def _escape_character(character: str) -> str:
    return CONTROL_PICTURES.get(ord(character)) or ascii(character)[1:-1]


def plain(text: str, limit: int = 0) -> str:
    """Return the text made `harmless`, cut at `limit` characters if that is not 0."""
    if limit:
        text = text[: 2 * limit + 2]  # `harmless` merges at most two characters into one
    shown = harmless(text)
    return (
        shown
        if not limit or len(shown) <= limit
        else shown[: max(limit - len(CUT_MARK), 0)].rstrip() + CUT_MARK
    )


def sound(text: str) -> str:
    """Replace lone surrogates, which a submission can create but UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str, limit: int = 0) -> str:
    """Return the text on one line, cut at `limit` characters if that is not 0."""
    return plain(" ".join(plain(text).split()), limit)


def logged(text: str, limit: int = 0) -> str:
    """Return the text with `| ` before each line, so that a runner reads no line of its log as a command."""
    return "\n".join(f"| {line}" for line in plain(text, limit).splitlines())


def quoted(text: str) -> list[str]:
    """Return the lines of the text, indented and with `| ` before each, for a terminal."""
    return [f"      | {line}" for line in harmless(text).splitlines()]


def in_markdown(text: str, limit: int = 0) -> str:
    """Return the text escaped for a paragraph or a table cell in Markdown."""
    escaped = html.escape(one_line(text, limit), quote=False)
    return MARKUP.sub(lambda mark: f"&#{ord(mark.group())};", escaped.replace("&", "\0")).replace("\0", "&")


def fenced(text: str, limit: int = 0) -> str:
    """Return the text as a Markdown code block whose fence is longer than any run of backticks in it."""
    block = plain(text, limit)
    longest = max((len(run) for run in re.findall("`+", block)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{block}\n{fence}"
