"""List all formats by name, with the files that each writes.

The module of a format is imported when it is used, because the terminal format does not need XML.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from grader.report import Report

#: For each format, the files that its host expects and the modules that render them.
FILES = {
    "terminal": {"report.txt": "terminal"},
    "json": {"report.json": "json"},
    "junit": {"junit.xml": "junit"},
    "html": {"report.html": "html"},
    "github": {"annotations.txt": "github", "summary.md": "summary"},
    "classroom": {"classroom.txt": "classroom"},
    "classroom50": {"result.json": "classroom50", "release-body.md": "release_body"},
    "gradescope": {"results.json": "gradescope"},
    "prairielearn": {"results.json": "prairielearn"},
    "exercism": {"results.json": "exercism"},
}
NAMES = tuple(FILES)


def documents(
    form: str, report: Report, setting: Mapping[str, str], notes: Sequence[str] = ()
) -> dict[str, str]:
    """Render all files of a format and return the texts by file name, the main file first. `setting` holds
    the host's variables; `classroom50` and `gradescope` use it. `notes` say which files were graded."""
    more = {"classroom50": (setting,), "gradescope": (setting, notes)}
    found = {}
    for file, name in FILES[form].items():
        module = importlib.import_module(f"grader.formats.{name}")
        found[file] = module.render(report, *more.get(name, ()))
    return found
