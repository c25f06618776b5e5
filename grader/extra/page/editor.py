"""The file of a kata as an editor holds it: read, saved, and compared with what others write to it; and what
the editor underlines, where the report found or proved something."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from grader.course.files import Folder, NotReadable, read_file
from grader.errors import reason_of
from grader.formats import account
from grader.report import KataReport, Place


class Document:
    """The text of a file, with line feeds alone. `problem` says why it cannot be edited or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unreadable = self.unwritten = ""  # why; `unwritten` is empty again once the text is in the file
        self.text = ""
        self._saved = b""  # what the file held when this was last in agreement with it
        self.take_from_disk()

    @property
    def problem(self) -> str:
        return self.unwritten or self._unreadable

    @property
    def is_gone(self) -> bool:
        """True if the file was deleted; its text is still here."""
        return bool(self.text) and not os.path.lexists(self.path)

    @property
    def is_saved(self) -> bool:
        """True if the text is what was last read or written."""
        return self._encoded(self.text) == self._saved

    def take_from_disk(self) -> None:
        """Take the text of the file; what was here is lost. A file that is gone leaves an empty text."""
        data = self._read()
        if data is not None:
            self._saved = data
            self.text = data.decode().replace("\r\n", "\n").replace("\r", "\n")

    def changed_outside(self) -> bool:
        """Return whether the file holds something else than what was last read or written."""
        data = self._read()
        return data is not None and data != self._saved

    def save(self, over: bool = False) -> bool:
        """Write the text, and return whether it is in the file now: not if somebody else has changed the file
        meanwhile, unless `over` is true, nor if it cannot be read or written: what is not shown here is not
        replaced. One that is gone is written again."""
        if self.is_saved and self.path.exists():
            self.unwritten = ""
            return True
        if not (over or self.is_gone) and self.changed_outside():
            return False
        if self._unreadable:
            return False
        data = self._encoded(self.text)
        try:
            with Folder(self.path.parent, makes=True, follows_links=False) as folder:
                folder.write(self.path.name, data=data)
        except NotReadable as error:
            self.unwritten = f"{self.path.parent.name} {error.strerror}, so {self.path.name} is not written."
            return False
        except OSError as error:
            self.unwritten = f"{self.path.name} cannot be written: {reason_of(error)}."
            return False
        self._saved, self.unwritten = data, ""
        return True

    def _encoded(self, text: str) -> bytes:
        """Return the text as bytes, with the line ends that the file had."""
        end = "\r\n" if b"\r\n" in self._saved else "\n"
        return text.replace("\n", end).encode("utf-8", "replace")

    def _read(self) -> bytes | None:
        """Return what the file holds, nothing if there is none; None if it cannot be edited."""
        self._unreadable = ""
        try:
            data = read_file(self.path)
            data.decode()
        except FileNotFoundError:
            return b""
        except UnicodeDecodeError:
            self._unreadable = f"{self.path.name} is not encoded as UTF-8; save it as UTF-8 to edit it here."
        except NotReadable as error:
            self._unreadable = f"{self.path.name} {error.strerror}."
        except OSError as error:
            self._unreadable = f"{self.path.name} cannot be read: {reason_of(error)}."
        else:
            return data
        return None


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
    """Return the places of a report, each once: where the code raised, the first cause first, then what a
    search has found."""
    checks = [check for cause in account.causes(report) for check in cause.checks]
    raised = [Mark(one.place, account.explanation(one)) for one in checks if one.place]
    found = [Mark(one.place, account.repair_text(report)) for one in report.repairs]
    marks = list({(mark.place.line, mark.place.start): mark for mark in reversed([*raised, *found])}.values())
    marks.reverse()
    line = account.line_of(report.message) if report.excerpt else 0
    if line > 0:
        marks.append(Mark(Place(line, ""), report.message))
    return marks


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
