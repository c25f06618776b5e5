"""All formats by name, and the files that each writes.

A module of formats is imported when it is asked for: the terminal, which most runs want, needs no XML.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from grader.report import Report

#: For each format the files that its host expects, and the modules that fill them.
FILES = {
    "terminal": {"report.txt": "terminal"},
    "json": {"report.json": "json"},
    "junit": {"junit.xml": "junit"},
    "html": {"report.html": "html"},
    "github": {"annotations.txt": "github", "summary.md": "summary"},
    "classroom": {"classroom.txt": "classroom"},
    "classroom50": {"result.json": "classroom50", "release-body.md": "summary"},
    "gradescope": {"results.json": "gradescope"},
    "prairielearn": {"results.json": "prairielearn"},
    "exercism": {"results.json": "exercism"},
}
NAMES = tuple(FILES)


def documents(form: str, report: Report, setting: Mapping[str, str]) -> dict[str, str]:
    """The texts of a format by the names of their files, the main one first. `setting` is what the host
    says of the submission; one format passes it on."""
    found = {}
    for file, name in FILES[form].items():
        module = importlib.import_module(f"grader.formats.{name}")
        found[file] = module.render(report, setting) if name == "classroom50" else module.render(report)
    return found
