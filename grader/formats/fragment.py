"""Render a kata's report as a fragment of HTML for a page such as a notebook.

It has no scripts, loads nothing and sets no styles for the page. Each cause of failures can be unfolded.
Values are drawn as text, because notebooks remove SVG from outputs that they do not trust.
"""

from __future__ import annotations

from dataclasses import replace

from grader.formats import account, pages
from grader.report import CheckReport, KataReport
from grader.report_texts import legible_kata


def render_kata(kata: KataReport) -> str:
    """Return the score, every check and, if a check does not hold, what the code printed."""
    return pages.fill(pages.TEMPLATES / "fragment.html", kata=legible_kata(kata), facts=_facts)


def _facts(check: CheckReport) -> str:
    return account.drawn(replace(check, mistake=None))
