"""Try: lines that run after the file, what they print, and their last value as a picture."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from nicegui import html, ui
from nicegui.events import CodeMirrorFocusChangeEventArguments

from grader.course.catalog import KataInfo
from grader.formats import pages
from grader.page.keys import focus_on, leave_editor
from grader.page.messages import Dropped, Tried
from grader.page.workplace import Workplace

TEMPLATE = Path(__file__).parent / "templates" / "tried.html"
FIRST = "# Lines that run after your file; the last value is shown.\n"


class TrialView:
    """The lines and what came of them. `save` writes the file before they run."""

    def __init__(
        self,
        place: Workplace,
        info: KataInfo,
        save: Callable[[], bool],
        on_focus: Callable[[CodeMirrorFocusChangeEventArguments], None],
    ) -> None:
        self.place, self.info, self.save = place, info, save
        with html.details().classes("try") as self.box:
            html.summary("Try")
            self.lines = ui.codemirror(
                FIRST + (info.entry_points[0] if info.entry_points else ""),
                language="Python",
                keymap={"Mod-Enter": self.run, "Escape": leave_editor},
                on_focus_change=on_focus,
            ).classes("lines")
            html.button("Run", type="button").on("click", self.run)
            self.tried = ui.html("", sanitize=False)

    def open(self) -> None:
        self.box.props("open")
        ui.timer(0.1, lambda: focus_on(".lines .cm-content"), once=True)

    async def run_case(self, snippet: str) -> None:
        """Put the code of a call into the lines, and run it."""
        self.lines.value = snippet
        self.box.props("open")
        await self.run()

    async def run(self) -> None:
        self.save()
        self.tried.content = "<p class='quiet'>Running …</p>"
        lines = self.lines.value or ""
        async with aclosing(self.place.judges.run(self.info.library, self.info.name, lines)) as answers:
            async for answer in answers:
                if isinstance(answer, Dropped):
                    answer = Tried(answer.number, "", problem=answer.problem)
                self.tried.content = pages.fill(TEMPLATE, tried=answer)
