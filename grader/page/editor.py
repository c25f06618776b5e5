"""The editor, and which parts of a text it underlines: where the report found or proved something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from grader.formats import account
from grader.report import KataReport, Place

LOST = "What was pasted was too large to be sent. The editor shows the file again."


class Editor(ui.codemirror):
    """A CodeMirror that shows the server's text again if a change has not arrived: the browser sends no more
    than a megabyte at a time, and later changes would fall into other places."""

    def _event_args_to_value(self, e: GenericEventArguments) -> str:
        if sum(e.args["sections"][::2]) == len(self._codepoints):
            return super()._event_args_to_value(e)
        self.run_method("setEditorValue", self.value)
        ui.notify(LOST, position="top", timeout=8000)
        return self.value or ""


@dataclass(frozen=True)
class Mark:
    """A part of a text and what is to be said about it."""

    place: Place
    text: str


def marks_of(report: KataReport) -> list[Mark]:
    """Return the places of a report, each once: where the code raised, then what a search has found."""
    raised = [Mark(one.place, account.explanation(one)) for one in account.wrong(report) if one.place]
    found = [Mark(one.place, account.repair_text(report)) for one in report.repairs]
    marks = list({(mark.place.line, mark.place.start): mark for mark in [*found, *raised]}.values())
    line = account.line_of(report.message) if report.excerpt else 0
    return [*marks, *[Mark(Place(line, ""), report.message)] * (line > 0)]


def decorations(text: str, marks: list[Mark]) -> list[dict[str, Any]]:
    """Return what CodeMirror underlines; nothing where the text is not the one that was judged."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for mark in marks:
        number = mark.place.line - 1
        if not 0 <= number < len(lines) or not lines[number].strip():
            continue
        line = lines[number]
        start, end = mark.place.start, min(mark.place.end, len(line))
        if not start < end:
            start, end = len(line) - len(line.lstrip()), len(line.rstrip())
        first = starts[number]
        found.append({"kind": "mark", "from": first + start, "to": first + end, "class": "in-question"})
    return found


def tooltips(marks: list[Mark]) -> dict[int, str]:
    """Return the texts by line."""
    return {mark.place.line: mark.text for mark in reversed(marks)}
