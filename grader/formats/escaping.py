"""Text of others in the hosts' languages: Markdown, HTML, a log.

An error message is written by the code that raised it. It may hold the end of a table or a tag: every
format escapes such text here. `report_texts` has made its characters visible.
"""

from __future__ import annotations

import html
import re

from grader.report_texts import harmless

CUT = " …"
#: What Markdown, or a host's flavour of it, takes for more than a letter; `@` names people, `#` threads.
MARKS = re.compile(r"[\\`*_\[\]#|~@$]")


def plain(text: str, limit: int = 0) -> str:
    """Return the harmless text, cut at `limit` characters where a limit is given."""
    if limit:
        text = text[: 2 * limit + 2]  # two characters become one at most: enough to see that it is cut
    shown = harmless(text)
    return shown if not limit or len(shown) <= limit else shown[: max(limit - len(CUT), 0)].rstrip() + CUT


def sound(text: str) -> str:
    """The text without half characters, which a submission can make and nobody can write as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line."""
    return plain(" ".join(plain(text).split()), limit)


def logged(text: str, limit: int = 0) -> str:
    """Return the text with each line behind a bar, for a log whose lines a runner reads."""
    return "\n".join(f"| {line}" for line in plain(text, limit).splitlines())


def quoted(text: str) -> list[str]:
    """Return each line of the text behind a bar, for a terminal."""
    return [f"      | {line}" for line in harmless(text).splitlines()]


def in_markdown(text: str, limit: int = 0) -> str:
    """The text as words of a paragraph or of a table's cell."""
    escaped = html.escape(one_line(text, limit), quote=False)
    return MARKS.sub(lambda mark: f"&#{ord(mark.group())};", escaped.replace("&", "\0")).replace("\0", "&")


def in_html(text: str, limit: int = 0) -> str:
    """The text as words of a page, or of an attribute in quotes."""
    return html.escape(plain(text, limit))


def fenced(text: str, limit: int = 0) -> str:
    """The text as a block of code, in a fence that is longer than any inside."""
    block = plain(text, limit)
    longest = max((len(run) for run in re.findall("`+", block)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{block}\n{fence}"


def points(hundredths: int) -> str:
    """Points as they are, without a needless fraction: `3`, `0.5`, `1234.25`."""
    whole, rest = divmod(abs(hundredths), 100)
    text = f"{whole}.{rest:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if hundredths < 0 else text


def number(hundredths: int) -> int | float:
    """Points as the number that a JSON shows them by: an integer where they are whole."""
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100
