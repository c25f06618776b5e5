"""What all views of the page share: the course, the judges, and what is remembered."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from nicegui import ui

from grader.course.catalog import Course, KataInfo
from grader.course.state import CourseState, Versions
from grader.page.history import History
from grader.page.judges import Judges
from grader.see.demonstration import speech_in

MOST_SHOWN = 12


@dataclass
class Workplace:
    """A course that one person works on."""

    course: Course
    judges: Judges
    state: CourseState = field(init=False)
    versions: Versions = field(init=False)
    lessons: dict[str, str] | None = field(init=False)  # by kata; None if the functions write nothing
    shown: dict[str, str] = field(default_factory=dict)  # pages for frames, by their paths

    def __post_init__(self) -> None:
        self.state = CourseState(self.course)
        self.versions = Versions(self.state.folder)
        speech = speech_in(self.course)
        self.lessons = dict(speech.lessons) if speech else None

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
