"""Render a report as JSON in the project's own schema."""

from __future__ import annotations

import json

from grader.formats import Document
from grader.report import Report, to_json
from grader.texts.bounds import legible


def render(report: Report) -> str:
    """Return the report as JSON with one newline at the end."""
    return json.dumps(to_json(legible(report)), indent=2, ensure_ascii=False) + "\n"


DOCUMENTS = [Document("report.json", render)]
