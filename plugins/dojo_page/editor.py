"""The file of a kata as an editor holds it: read, saved, and compared with what others write to it; and what
the editor underlines, where the report found or proved something."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.events import CodeMirrorFocusChangeEventArguments, GenericEventArguments

from grader.course.files import Folder, NotReadable, read_file
from grader.errors import reason_of
from grader.formats import account
from grader.report import KataReport, Place
from grader.texts.escaping import sound

LONGEST_TEXT = (
    1 << 17
)  # characters of a text: in JSON they fit into one message of the socket, whatever they are


def _text_of(data: bytes) -> str:
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")


class EditedText:
    """The text of a file, with line feeds alone. `problem` says why it cannot be edited or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unreadable = self.unwritten = ""  # why; `unwritten` is empty again once the text is in the file
        self.text = ""
        self._saved = b""  # what the file held when this was last in agreement with it
        self._offered: dict[str, bytes] = {}  # by its text, what the file held each time an editor was asked
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
            self._saved, self.text = data, _text_of(data)

    def offer(self) -> str:
        """Return the text of the file, for an editor; it is not taken before the editor has it."""
        data = self._read()
        if data is None:
            return self.text
        text = _text_of(data)
        if text == self.text:  # with other line ends
            self._saved = data
        else:
            self._offered[text] = data
        return text

    def take(self, text: str) -> None:
        """Take the text of an editor, which is saved if it is what the file has offered."""
        self.text = text
        self._saved = self._offered.get(text, self._saved)
        self._offered.clear()

    def changed_outside(self) -> bool:
        """Return whether the file holds something else than what was last read or written, and than the text
        here."""
        data = self._read()
        return data is not None and data not in (self._saved, self._encoded(self.text))

    def save(self, *, over: bool = False) -> bool:
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
            if len(data.decode()) > LONGEST_TEXT:
                self._unreadable = (
                    f"{self.path.name} has more than {LONGEST_TEXT} characters; edit it elsewhere."
                )
                return None
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


@dataclass(frozen=True)
class MarkedRange:
    """A part of a text and what is to be said about it."""

    place: Place
    text: str


def marks_of(report: KataReport) -> list[MarkedRange]:
    """Return the places of a report, each once: where the code raised, the first cause first, then what a
    search has found."""
    checks = [check for cause in account.causes(report) for check in cause.checks]
    raised = [MarkedRange(one.place, account.explanation(one)) for one in checks if one.place]
    found = [MarkedRange(one.place, account.repair_text(report)) for one in report.repairs]
    marks = list({(mark.place.line, mark.place.start): mark for mark in reversed([*raised, *found])}.values())
    marks.reverse()
    line = account.line_of(report.message) if report.excerpt else 0
    if line > 0:
        marks.append(MarkedRange(Place(line, ""), report.message))
    return marks


def decorations(text: str, marks: list[MarkedRange]) -> list[dict[str, Any]]:
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


def tooltips(marks: list[MarkedRange]) -> dict[int, str]:
    """Return the texts by line."""
    return {mark.place.line: mark.text for mark in reversed(marks)}


class Editor(ui.codemirror):
    """A CodeMirror whose text is the browser's: `text` is what it has sent last.

    After each change the browser sends the whole text, so nothing has to fit what was sent before. The server
    alters no property, since each update would bring the server's text back over what is being typed.
    """

    def __init__(
        self,
        text: str,
        on_text: Callable[[str], object] | None = None,
        on_focus: Callable[[CodeMirrorFocusChangeEventArguments], None] | None = None,
        keymap: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(text, language="Python", on_focus_change=on_focus, keymap=keymap)
        self.text, self._on_text = text, on_text
        self.props(f"data-longest={LONGEST_TEXT}")
        self.on("text", self._take)

    def replace(self, text: str) -> None:
        """Ask the browser for another text. It sends it back, or leaves its own if that is not the one that
        was sent last: then more was typed, and arrives instead."""
        self._call("replaceText", self.text, text)

    def underline(self, text: str, marks: list[MarkedRange]) -> None:
        """Underline places of a text, if it is the one that the browser has."""
        self._call("markText", text, decorations(text, marks), tooltips(marks))

    def _take(self, event: GenericEventArguments) -> None:
        self.text = sound(str(event.args))[:LONGEST_TEXT]
        if self._on_text:
            self._on_text(self.text)

    def _call(self, function: str, *words: object) -> None:
        self.client.run_javascript(f"{function}({', '.join(map(json.dumps, (self.id, *words)))})")
