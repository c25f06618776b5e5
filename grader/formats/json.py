"""The JSON contract."""

from __future__ import annotations

import json

from grader.formats.escaping import sound
from grader.report import Report, to_json


def render(report: Report) -> str:
    """The report as JSON, one trailing newline."""
    return sound(json.dumps(to_json(report), indent=2, ensure_ascii=False)) + "\n"
