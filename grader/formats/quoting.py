"""A submission's text on a terminal and in a log: quoted, and never more than text.

A log's reader may be a program: a line that begins with `::`, whatever blanks stand before, or holds
`##[…]`, is a command to the runner that reads it.
"""

from __future__ import annotations

CONTROL = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}


def visible(text: str) -> str:
    """The text with its control characters shown, not obeyed, and what else does not print spelt out: the
    marks that turn the direction of reading, the controls beyond ASCII, half characters."""
    shown = text.translate(CONTROL)
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in shown)


def harmless(lines: list[str]) -> list[str]:
    """The lines, none of which a runner takes for a command."""
    return [_broken(visible(line)) for line in lines]


def quoted(text: str) -> list[str]:
    """Each line of the text, behind a bar."""
    return [f"      | {line}" for line in harmless(text.splitlines())]


def _broken(line: str) -> str:
    text = line.lstrip()
    blanks = line[: len(line) - len(text)]
    return (blanks + (f": {text[1:]}" if text.startswith("::") else text)).replace("##[", "# #[")
