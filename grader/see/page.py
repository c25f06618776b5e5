"""Render the sections as one page, which works offline and runs its own script alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.formats import pages
from grader.see.example import rounded
from grader.see.sections import Figure, Section
from grader.see.tracing import cells_of

TEMPLATE = Path(__file__).parent / "templates" / "page.html"


def render(sections: Sequence[Section]) -> str:
    """Return the page. What a student typed is data in it, which its script writes as text alone."""
    return pages.page(TEMPLATE, "Your decoder, running", sections=list(map(_section, sections)))


def _section(section: Section) -> dict[str, Any]:
    figures = [_figure(figure) for figure in section.figures if not figure.in_text_only]
    return {**vars(section), "title": section.title, "figures": figures}


def _figure(figure: Figure) -> dict[str, Any]:
    return {**vars(figure), "values": rounded(figure.values), "changed": cells_of(figure.changed)}
