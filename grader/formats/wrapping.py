"""Wrap texts at words; a word that is longer than a line keeps whole, so that it can be copied."""

from __future__ import annotations

from textwrap import wrap


def words(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Return the lines of a paragraph: `first` before the first one, `rest`, or else the same, before the
    others."""
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


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
