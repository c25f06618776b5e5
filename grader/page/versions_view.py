"""The versions of a file: those that were judged, the best one, and the stub."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from nicegui import html, ui

from grader.course.catalog import KataInfo
from grader.course.loading import from_here
from grader.course.state import BEST
from grader.course.stubs import stub_source
from grader.page.workplace import Workplace


class VersionsView:
    """The list of versions and the buttons. `bring_back` writes one to the file and keeps what it held."""

    def __init__(self, place: Workplace, info: KataInfo, bring_back: Callable[[bytes], None]) -> None:
        self.place, self.info, self.bring_back = place, info, bring_back
        with html.details().classes("history").on("toggle", self.show):
            html.summary("History")
            self.list = html.div()
        with html.div().classes("tools"):
            html.button("Best version", type="button").on("click", self.best)
            html.button("Stub again", type="button").on("click", self.ask_stub)
        with ui.dialog() as self.asked, html.div().classes("note"):
            html.p(f"Bring back the stub of {info.name}? A copy of your file is kept.")
            html.button("Bring it back", type="button").on("click", self.stub)
            html.button("Leave it", type="button").on("click", self.asked.close)

    def show(self) -> None:
        """List the versions, the last one first."""
        self.list.clear()
        history = self.place.history(self.info)
        found = history.versions()
        with self.list:
            for file in history.damaged():
                html.p(f"An earlier history cannot be read; it is kept in {from_here(file)}.")
            for version in reversed(found):
                when = datetime.fromtimestamp(version.when).strftime("%d %b, %H:%M:%S")
                points = f"{version.score / 100:g} of {version.max_score / 100:g}"
                with html.div().classes("version"):
                    html.span(f"{when}   {points}")
                    html.button("Bring back", type="button").on(
                        "click", lambda _, source=version.source: self.bring_back(source.encode())
                    )
            if not found:
                html.p("Nothing was judged here yet.").classes("quiet")

    def best(self) -> None:
        self._bring(self.place.versions.kept(BEST, self.info), "best version")

    def ask_stub(self) -> None:
        self.asked.open()

    def stub(self) -> None:
        self.asked.close()
        self._bring(stub_source(self.place.course, self.info, self.place.versions), "stub")

    def _bring(self, data: bytes | None, what: str) -> None:
        if data is None:
            ui.notify(f"There is no copy of the {what} of {self.info.name}.", position="top")
        else:
            self.bring_back(data)
