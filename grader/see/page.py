"""Render the sections as one page, which works offline and runs its own script alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.formats import pages
from grader.see.demonstration import Demonstration
from grader.see.sections import Figure, Section, rounded
from grader.see.tracing import cells_of

TEMPLATE = Path(__file__).parent / "templates" / "page.html"


def render(demonstration: Demonstration, sections: Sequence[Section]) -> str:
    """Return the page. What a student typed is data in it, which its script writes as text alone."""
    return pages.page(
        TEMPLATE,
        demonstration.title,
        style=demonstration.own("page.css"),
        script=demonstration.own("page.js") + "show();\n",
        sections=list(map(_section, sections)),
    )


def _section(section: Section) -> dict[str, Any]:
    figures = [_figure(figure) for figure in section.figures if not figure.in_text_only]
    return {**vars(section), "figures": figures}


def _figure(figure: Figure) -> dict[str, Any]:
    return {**vars(figure), "values": rounded(figure.values), "changed": cells_of(figure.changed)}
