"""Render a report as one HTML page, or a kata's as a fragment of one.

Neither has scripts or loads anything. The page is readable without styles, and the fragment sets none.
"""

from __future__ import annotations

from dataclasses import replace

from grader.formats import Document, account, pages
from grader.report import CheckReport, KataReport, Report
from grader.texts.bounds import legible, legible_kata
from grader.texts.points import points


def render(report: Report) -> str:
    """Return the page: a table of all katas, then each kata with the causes of its failures."""
    report = legible(report)
    total = f"{points(report.score)} of {points(report.max_score)} points"
    return pages.page(pages.TEMPLATES / "report.html", total, report=report)


def fragment(kata: KataReport) -> str:
    """Return a kata's score, every check and, if a check does not hold, what the code printed."""
    return pages.fill(pages.TEMPLATES / "fragment.html", kata=legible_kata(kata), facts=_facts)


def _facts(check: CheckReport) -> str:
    bare = account.without_drawn(replace(check, mistake=None))
    return account.of_check(bare, says_what=False)


DOCUMENTS = [Document("report.html", render)]
