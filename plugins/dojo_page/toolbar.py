"""The tools below the editor, one panel for each: hints, lines to try, and the versions of the file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime
from pathlib import Path

from nicegui import html, ui
from nicegui.events import CodeMirrorFocusChangeEventArguments

from dojo_page.editor import Editor
from dojo_page.messages import Dropped, Tried
from dojo_page.workplace import Version, Workplace, focus_on, leave_editor
from grader.course.catalog import KataInfo
from grader.course.files import from_here
from grader.course.hints import next_hint, next_number
from grader.course.stubs import BEST_COPIES, stub_source
from grader.course.submission import SubmissionRejected, ask, encoded
from grader.formats import account, pages
from grader.report import KataReport
from grader.texts.points import points

TEMPLATES = Path(__file__).parent / "templates"
FIRST = "# Lines that run after your file; the last value is shown.\n"
MOST_LINES = 400  # of a difference


class Toolbar:
    """The buttons and their panels, of which one is open at a time. `text` returns what the editor holds,
    `save` writes it, and `bring_back` writes another version to the file and keeps what it held."""

    def __init__(
        self,
        place: Workplace,
        info: KataInfo,
        text: Callable[[], str],
        save: Callable[[], object],
        bring_back: Callable[[bytes], None],
        on_focus: Callable[[CodeMirrorFocusChangeEventArguments], None],
    ) -> None:
        self.place, self.info, self.text, self.save, self.bring_back = place, info, text, save, bring_back
        self.snippet = ""  # the call that the verdict shows
        self.buttons: dict[str, html.button] = {}
        self.panels: dict[str, html.div] = {}
        with html.div(role="toolbar", **{"aria-label": "Tools"}).classes("toolbar"):
            with self._button("hints", self.hint):
                self.hint_label = ui.label("Hints")
            with self._button("try", lambda: self.open("try")):
                ui.label("Try")
            with self._button("history", lambda: self.open("history")):
                ui.label("History")
            with html.button(type="button").on("click", self.try_case) as self.case:
                ui.label("Case")
            self.case.tooltip("Put the call that the verdict shows into Try")
            self.status = html.div().classes("status")
        with self._panel("hints", "Hints"):
            self.hints = html.div(**{"aria-live": "polite"})
            html.button("Next hint", type="button").on("click", self._add_hint)
        with self._panel("try", "Lines to try"):
            self._try(on_focus)
        with self._panel("history", "Versions of the file"):
            self._history()
        self.take(None)

    def take(self, report: KataReport | None) -> None:
        """Offer the case of a verdict, if a call fails that can be written as code, and the next hint."""
        causes = account.causes(report) if report else []
        self.snippet = causes[0].first.snippet if causes else ""
        self.case.set_visibility(bool(self.snippet))
        self.show_hint_number()

    def _button(self, name: str, press: Callable[[], object]) -> html.button:
        made = html.button(type="button", **{"aria-expanded": "false", "aria-controls": f"panel-{name}"})
        self.buttons[name] = made.on("click", press)
        return self.buttons[name]

    def _panel(self, name: str, label: str) -> html.div:
        panel = html.div(id=f"panel-{name}", role="region", **{"aria-label": label}).classes(f"panel {name}")
        panel.set_visibility(False)
        self.panels[name] = panel
        return panel

    def open(self, name: str, *, stays: bool = False) -> None:
        """Open a panel and close the others, or close it if it is open, unless it `stays`."""
        opens = stays or not self.panels[name].visible
        for other, panel in self.panels.items():
            panel.set_visibility(opens and other == name)
            self.buttons[other].props(f"aria-expanded={str(panel.visible).lower()}")
        self.show_hint_number()
        if opens and name == "try":
            ui.timer(0.1, lambda: focus_on(".lines .cm-content"), once=True)
        if opens and name == "history":
            self._list_versions()

    # --- hints ---

    def show_hint_number(self) -> None:
        number = next_number(self.info, self.place.state.kata(self.info.name)) if self.info.hints else 0
        is_open = self.panels["hints"].visible
        named = f"Hint {number} of {len(self.info.hints)}"
        self.hint_label.text = named if number and not is_open else "Hints"

    def hint(self) -> None:
        """Open the panel, with a hint if there is none in it yet, or close it."""
        self.open("hints")
        if self.panels["hints"].visible and not self.hints.default_slot.children:
            self._add_hint()

    def next_hint(self) -> None:
        self.open("hints", stays=True)
        self._add_hint()

    def _add_hint(self) -> None:
        text = next_hint(self.place.course, self.info, again="")
        with self.hints:
            ui.html(pages.fill(TEMPLATES / "hint.html", text=text), sanitize=False)
        self.show_hint_number()

    # --- lines to try ---

    def _try(self, on_focus: Callable[[CodeMirrorFocusChangeEventArguments], None]) -> None:
        self.lines = Editor(
            FIRST + (self.info.entry_points[0] if self.info.entry_points else ""),
            on_focus=on_focus,
            keymap={"Mod-Enter": self.run, "Escape": leave_editor},
        )
        self.lines.classes("lines")
        html.button("Run", type="button").classes("run").on("click", self.run)
        self.stop_button = html.button("Stop", type="button").on("click", self.stop)
        self.stop_button.set_visibility(False)
        self.tried = ui.html("", sanitize=False).props("role=status")

    async def try_case(self) -> None:
        """Put the call that the verdict shows into the lines, and run it."""
        if not self.snippet:
            ui.notify("There is no failing call that can be written as short code.", position="top")
            return
        self.lines.replace(self.snippet)
        self.open("try", stays=True)
        await self._run(self.snippet)

    async def run(self) -> None:
        await self._run(self.lines.text)

    async def _run(self, lines: str) -> None:
        self.save()
        self.tried.content = "<p class='quiet'>Running …</p>"
        self.stop_button.set_visibility(True)
        try:
            answers = self.place.judges.run(self.info.library, self.info.name, lines)
            async with aclosing(answers):
                async for answer in answers:
                    if isinstance(answer, Dropped):
                        answer = Tried(answer.number, "", problem=answer.problem or "Stopped.")
                    self.tried.content = pages.fill(TEMPLATES / "tried.html", tried=answer)
        finally:
            self.stop_button.set_visibility(False)

    def stop(self) -> None:
        """End what the judge is doing."""
        self.place.judges.stop(self.info.library)

    # --- versions ---

    def _history(self) -> None:
        with html.div().classes("tools"):
            html.button("Best version", type="button").on("click", self.best)
            html.button("Stub again", type="button").on("click", self.ask_stub)
        self.list = html.div()
        with ui.dialog() as self.asked, html.div().classes("note"):
            html.p(f"Bring back the stub of {self.info.name}? A copy of your file is kept.")
            html.button("Bring it back", type="button").on("click", self.stub)
            html.button("Leave it", type="button").on("click", self.asked.close)

    def _list_versions(self) -> None:
        """List the versions, the last one first."""
        self.list.clear()
        history = self.place.history(self.info)
        found = history.versions()
        with self.list:
            for file in history.damaged():
                html.p(f"An earlier history cannot be read; it is kept in {from_here(file)}.")
            for version in reversed(found):
                self._list(version)
            if not found:
                html.p("Nothing was judged here yet.").classes("quiet")

    def _list(self, version: Version) -> None:
        when = datetime.fromtimestamp(version.when).strftime("%d %b, %H:%M:%S")
        reached = f"{points(version.score)} of {points(version.max_score)}"
        with html.div().classes("version"):
            html.span(f"{'✓' if version.status == 'passed' else '✗'} {reached}")
            html.span(when).classes("quiet")
            compare = html.button("Compare", type="button")
            html.button("Bring back", type="button").on(
                "click", lambda: self.bring_back(version.source.encode())
            )
        difference = ui.html("", sanitize=False)
        compare.on("click", lambda: self._compare(difference, version.source))

    def _compare(self, shown: ui.html, source: str) -> None:
        """Show how the file differs from a version, or hide it again."""
        if shown.content:
            shown.content = ""
            return
        try:
            lines, _ = ask("difference", list[str], encoded(source), after=self.text(), most=MOST_LINES)
        except SubmissionRejected as refused:
            lines = [str(refused)]
        shown.content = pages.fill(TEMPLATES / "diff.html", lines=lines)

    def best(self) -> None:
        self._bring(self.place.versions.kept(BEST_COPIES, self.info), "best version")

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
