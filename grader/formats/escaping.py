"""Escape texts of a submission for Markdown and logs; Jinja2 escapes those of pages.

An error message comes from the code that raised it, so it may contain markup that ends a table or opens a
tag. Every format escapes such texts here. `report_texts` has already made invisible characters visible.
"""

from __future__ import annotations

import html
import re

from grader.report_texts import harmless

CUT = " …"
#: Characters with a meaning in Markdown or in a host's dialect of it; `@` mentions people, `#` issues.
MARKS = re.compile(r"[\\`*_\[\]#|~@$]")


def plain(text: str, limit: int = 0) -> str:
    """Return the text made `harmless`, cut at `limit` characters if that is not 0."""
    if limit:
        text = text[: 2 * limit + 2]  # `harmless` merges at most two characters into one
    shown = harmless(text)
    return shown if not limit or len(shown) <= limit else shown[: max(limit - len(CUT), 0)].rstrip() + CUT


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
    return MARKS.sub(lambda mark: f"&#{ord(mark.group())};", escaped.replace("&", "\0")).replace("\0", "&")


def fenced(text: str, limit: int = 0) -> str:
    """Return the text as a Markdown code block whose fence is longer than any run of backticks in it."""
    block = plain(text, limit)
    longest = max((len(run) for run in re.findall("`+", block)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{block}\n{fence}"


def points(hundredths: int) -> str:
    """Return hundredths of points as text without trailing zeros: `3`, `0.5`, `1234.25`."""
    whole, rest = divmod(abs(hundredths), 100)
    text = f"{whole}.{rest:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if hundredths < 0 else text


def number(hundredths: int) -> int | float:
    """Return hundredths of points as a number for JSON, which is an integer if the points are whole."""
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100
