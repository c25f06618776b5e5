"""The JSON contract."""

from __future__ import annotations

import json

from grader.report import Report, to_json
from grader.report_texts import legible


def render(report: Report) -> str:
    """The report as JSON, one trailing newline."""
    return json.dumps(to_json(legible(report)), indent=2, ensure_ascii=False) + "\n"
