"""Render the sections as one page, which works offline and runs its own script alone."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.see.demonstration import Demonstration
from grader.see.sections import Figure, Section, rounded
from grader.see.tracing import cells_of

TEMPLATES = Path(__file__).parent / "templates"


def render(demonstration: Demonstration, sections: Sequence[Section]) -> str:
    """Return the page. What a student typed is data in it, which its script writes as text alone."""
    style, script = (f"{_read(name)}{demonstration.own(name)}" for name in ("page.css", "page.js"))
    script += "show();\n"
    # `<` could end the element that holds the data
    data = json.dumps([_section(section) for section in sections], ensure_ascii=False, separators=(",", ":"))
    title = html.escape(demonstration.title)
    parts = {"TITLE": title, "POLICY": _policy(style, script), "STYLE": style, "SCRIPT": script}
    page = _read("page.html")
    for name, text in {**parts, "DATA": data.replace("<", "\\u003c")}.items():
        page = page.replace(f"%%{name}%%", text)
    return page


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a policy that allows this script and this style, and nothing else."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " base-uri 'none'; form-action 'none'"
    )


def _section(section: Section) -> dict[str, Any]:
    figures = [_figure(figure) for figure in section.figures if not figure.in_text_only]
    return {**vars(section), "figures": figures}


def _figure(figure: Figure) -> dict[str, Any]:
    return {**vars(figure), "values": rounded(figure.values), "changed": cells_of(figure.changed)}
