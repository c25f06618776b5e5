"""Render a report as one HTML page without scripts or external files; it is readable without styles."""

from __future__ import annotations

from grader.formats import Document, pages
from grader.formats.escaping import points
from grader.report import Report
from grader.report_texts import legible


def render(report: Report) -> str:
    """Return the page: a table of all katas, then each kata with the causes of its failures."""
    report = legible(report)
    total = f"{points(report.score)} of {points(report.max_score)} points"
    return pages.page(pages.TEMPLATES / "report.html", total, report=report)


DOCUMENTS = [Document("report.html", render)]
