"""What all views of the page share: the course, the judges, and what is remembered.

Keys of a view, which work while no field is being edited; `?` lists them.

The versions of a file that were judged, each with its score, in the folder of the state.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from nicegui import html, ui
from nicegui.events import KeyEventArguments

from dojo_page.judges import Judges
from dojo_show.demonstration import speech_in
from grader.course.catalog import Course, KataInfo
from grader.course.files import Folder
from grader.course.state import CourseState, put_aside
from grader.course.stubs import Versions
from grader.report import KataReport, KataStatus

MOST_VERSIONS = 100  # versions of a file
LARGEST_HISTORY = 4 << 20  # bytes of all of them


class Version(msgspec.Struct):
    """A judged version: when, the outcome, the score in hundredths, and the text."""

    when: float
    status: KataStatus
    score: int
    max_score: int
    source: str


class History:
    """The judged versions of one kata's file, the first one first."""

    def __init__(self, folder: Path, kata: str) -> None:
        self._folder, self._file = folder, ("history", f"{kata}.json")

    def versions(self) -> list[Version]:
        """Return the versions; none if the file cannot be read, which then gets another name."""
        with suppress(OSError), Folder(self._folder, follows_links=False) as folder:
            return self._versions(folder)
        return []

    def damaged(self) -> list[Path]:
        """Return the files that could not be read, under the names that they have now."""
        kind, name = self._file
        with (
            suppress(OSError),
            Folder(self._folder, follows_links=False) as kept,
            kept.folder(kind) as folder,
        ):
            found = [entry.name for entry in folder.entries()]
            return [folder.path / one for one in found if one.startswith(f"{name}.damaged-")]
        return []

    def add(self, report: KataReport, source: str) -> None:
        """Keep the text that was judged, unless it is the one kept last or not the one of the report."""
        if report.digest != hashlib.sha256(source.encode()).hexdigest():
            return
        with (
            suppress(OSError),  # a full disk costs nothing but the history
            Folder(self._folder, makes=True, follows_links=False) as folder,
            folder.alone(),
        ):
            found = self._versions(folder)
            if found and found[-1].source == source:
                return
            new = Version(time.time(), report.status, report.score, report.max_score, source)
            found = [*found, new][-MOST_VERSIONS:]
            data = msgspec.json.encode(found)
            while len(data) > LARGEST_HISTORY and len(found) > 1:
                del found[0]
                data = msgspec.json.encode(found)
            folder.write(*self._file, data=data)

    def _versions(self, folder: Folder) -> list[Version]:
        try:
            return msgspec.json.decode(folder.read(*self._file), type=list[Version])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError, RecursionError):
            with suppress(OSError):
                put_aside(folder, *self._file)
            return []


@dataclass(frozen=True)
class Shortcut:
    """A key, what it does in words, and what it does."""

    name: str
    text: str
    press: Callable[[], Any]


def listen(keys: list[Shortcut], extra: tuple[tuple[str, str], ...] = ()) -> ui.keyboard:
    """Press these keys; `extra` are keys that something else handles, and are listed too."""
    listed = [*((key.name, key.text) for key in keys), *extra, ("?", "Show these keys.")]
    with ui.dialog() as dialog, html.div().classes("keys note"):
        html.h2("Keys")
        with html.dl():
            for name, text in listed:
                html.dt(name)
                html.dd(text)
        html.button("Close", type="button").on("click", dialog.close)

    async def press(event: KeyEventArguments) -> None:
        held = event.modifiers
        if not event.action.keydown or held.ctrl or held.meta or held.alt:
            return
        if event.key.name == "?":
            dialog.open()
        for key in keys:
            if key.name == event.key.name and not dialog.value:
                result = key.press()
                if hasattr(result, "__await__"):
                    await result

    return ui.keyboard(press, repeating=False, ignore=["input", "select", "textarea"])


def focus_on(selector: str) -> None:
    ui.run_javascript(f"document.querySelector('{selector}')?.focus()")


def press_question_mark() -> None:
    """List the keys, for whoever has none."""
    ui.run_javascript("document.dispatchEvent(new KeyboardEvent('keydown', { key: '?' }))")


def leave_editor() -> None:
    ui.run_javascript("document.activeElement.blur()")


MOST_SHOWN = 12


@dataclass
class Workplace:
    """A course that one person works on."""

    course: Course
    judges: Judges
    state: CourseState = field(init=False)
    versions: Versions = field(init=False)
    lessons: dict[str, str] | None = field(init=False)  # by kata; None if the functions write nothing
    parts: tuple[str, ...] = field(init=False)  # the katas whose functions write a text
    shown: dict[str, str] = field(default_factory=dict)  # pages for frames, by their paths
    typed: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # by kata and constant: what is no value yet

    def __post_init__(self) -> None:
        self.state = CourseState(self.course)
        self.versions = Versions(self.state.folder)
        speech = speech_in(self.course)
        self.lessons = dict(speech.lessons) if speech else None
        self.parts = tuple(speech.parts) if speech else ()

    def keep(self, page: str) -> str:
        """Keep a page for a frame, and return its path; earlier ones are forgotten, but for a few tabs'."""
        path = f"/shown/{secrets.token_hex(8)}"
        self.shown[path] = page
        for old in [*self.shown][:-MOST_SHOWN]:
            del self.shown[old]
        return path

    def history(self, info: KataInfo) -> History:
        return History(self.state.folder, info.name)


def prefix() -> str:
    """Return what a proxy has put before the paths of this server; empty without one."""
    request = ui.context.client.request
    return request.headers.get("X-Forwarded-Prefix", "") or request.scope.get("root_path", "")
