"""The statement of a kata as the Markdown of a notebook: formulas in LaTeX, pictures as images."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from itertools import groupby

from dojo_authoring.formulas import as_table
from dojo_authoring.statement import escape, to_markdown
from grader.drawing import statement
from grader.formats import pages

FENCED = re.compile(r"^(`{3,})text\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
SIGNS = {
    "·": r"\cdot ",
    "\N{MINUS SIGN}": "-",
    "≤": r"\le ",
    "≥": r"\ge ",
    "…": r"\dots ",
    "∑": r"\sum",
    "∞": r"\infty ",
    "π": r"\pi ",
    "\N{PRIME}": r"\prime ",
}


def to_notebook(docstring: str, axes: Mapping[str, str]) -> str:
    """Return the Markdown of a kata's statement; `axes` holds the names of axes, as in its declaration."""

    def block(found: re.Match[str]) -> str:
        lines = found[2].split("\n")
        drawn = statement.pictures("\n".join(statement.INDENT + line for line in lines), axes)
        return "\n\n".join(filter(None, [*_paragraphs(found[1], lines), " ".join(map(pages.images, drawn))]))

    return FENCED.sub(block, to_markdown(docstring))


def _paragraphs(fence: str, lines: list[str]) -> Iterator[str]:
    """Yield the paragraphs of a block: those that the page sets as a table as one, the others as they are
    written."""
    written = list[str]()
    for is_text, group in groupby(lines, key=bool):
        paragraph = list(group)
        if table := as_table(paragraph) if is_text else "":
            yield _as_written(fence, written)
            yield _as_markdown(ET.fromstring(table))
            written = []
        else:
            written += paragraph
    yield _as_written(fence, written)


def _as_written(fence: str, lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return f"{fence}text\n{text}\n{fence}" if text else ""


def _as_markdown(table: ET.Element) -> str:
    """Return a table of formulas, or of names with what they are, in Markdown, which wants a first row."""
    rows = [[_cell(cell).strip() for cell in row.iter("td")] for row in table.iter("tr")]
    width = max(map(len, rows))
    lines = [[""] * width, [":--"] * width, *([*row, *[""] * (width - len(row))] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(node: ET.Element) -> str:
    """Return what a cell holds; formulas that follow each other are one."""
    found = escape(node.text or "")
    for kind, group in groupby(node, key=lambda child: child.tag):
        parts = list(group)
        if kind == "math":
            found += rf"$\displaystyle {''.join(map(_tex, parts)).strip()}$"
        else:
            found += "".join(_inline(part) for part in parts)
        found += escape(parts[-1].tail or "")
    return found


def _inline(node: ET.Element) -> str:
    """Return code, a power in a sentence, or what stands beside an equation."""
    text = "".join(node.itertext())
    if node.tag == "code":
        return f"`{text}`" + escape(node.tail or "")
    return f"<sup>{escape(text)}</sup>" if node.tag == "sup" else _cell(node) + " "


def _tex(node: ET.Element) -> str:
    """Return MathML as LaTeX."""
    parts = [_tex(child) for child in node]
    text = node.text or ""
    match node.tag:
        case "mi":
            name = text.replace("_", r"\_")
            return SIGNS.get(text) or (text if len(text) == 1 else rf"\mathrm{{{name}}}")
        case "mn":
            return text
        case "mo":
            return SIGNS.get(text, text)
        case "mspace":
            return r"\,"
        case "mfrac":
            return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
        case "msqrt":
            return rf"\sqrt{{{''.join(parts)}}}"
        case "msup":
            return f"{{{parts[0]}}}^{{{parts[1]}}}"
        case "msub":
            return f"{{{parts[0]}}}_{{{parts[1]}}}"
        case "munder":
            return f"{parts[0]}_{{{parts[1]}}}"
        case "mover":
            return rf"\hat{{{parts[0]}}}"
    is_tall = len(parts) > 2 and parts[0] in ("(", "[") and node.find(".//mfrac") is not None
    return rf"\left{parts[0]}{''.join(parts[1:-1])}\right{parts[-1]}" if is_tall else "".join(parts)
