"""One kata: its statement, an editor for its file, and the verdict, a quarter of a second after a pause."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

from nicegui import background_tasks, html, ui
from nicegui.events import CodeMirrorFocusChangeEventArguments

from dojo_page.editor import EditedText, Editor, MarkedRange, marks_of
from dojo_page.judges import PAUSE_SECONDS
from dojo_page.messages import Verdict
from dojo_page.questions import QuestionsView
from dojo_page.statement_view import show_statement
from dojo_page.toolbar import Toolbar
from dojo_page.workplace import Shortcut, Workplace, focus_on, leave_editor, listen, prefix
from grader.course.catalog import KataInfo
from grader.course.files import text_of
from grader.course.stubs import STUB_COPIES
from grader.errors import reason_of
from grader.formats import account, pages
from grader.grading.standings import Standing, first_needed, is_begun, next_kata, next_line, shown, standings
from grader.report import KataReport
from grader.texts.points import points

TEMPLATES = Path(__file__).parent / "templates"
LOOK_SECONDS = 0.5  # between two looks at the file
RETRY_SECONDS = 2.0  # between two attempts to write it
WORDS = {
    "passed": "",
    "failed": "",
    "not_started": "not started",
    "waiting": "waits",
    "error": "could not be graded",
}
IN_EDITOR = (
    ("Escape", "Leave the editor; then Tab goes on. Inside, Tab indents."),
    ("Ctrl-Enter", "In the editor: judge at once. In Try: run the lines."),
    ("F8", "In the editor: go to the place in question."),
)
TABS = ("statement", "code", "verdict")


class KataView:
    """The page of one kata. What is typed goes to the file that every other editor sees."""

    def __init__(self, place: Workplace, info: KataInfo) -> None:
        self.place, self.info, self.course = place, info, place.course
        self.document = EditedText(self.course.stub(info))
        self.report: KataReport | None = None
        self.questions: QuestionsView | None = None
        self.editor: Editor | None = None  # a page of questions has none
        self.notice = ""
        self.marks: list[MarkedRange] = []
        self._typed_at = self._tried_at = 0.0
        self._task: asyncio.Task[Any] | None = None
        self._looked = 0  # at which of the marks
        self._doing, self._began = "", 0.0  # what the judge does, and since when
        self.prefix = prefix()
        self.is_begun = is_begun(info, self.document.path)
        if not place.state.kata(info.name).digest and not self.is_begun:
            place.versions.keep(STUB_COPIES, info, self.document.path)
        self._build()
        self.keyboard = listen(self._keys(), IN_EDITOR)
        ui.timer(LOOK_SECONDS, self._look_outside)
        self.client = ui.context.client
        self.client.on_disconnect(self._leave)
        self._start(self._judge())

    # --- what one sees ---

    def _build(self) -> None:
        tab = "code" if self.is_begun else "statement"
        with html.div(id="main", **{"data-tab": tab}).classes("kata"):
            with html.div(role="group", **{"aria-label": "What to see"}).classes("tabs"):
                for name in TABS:
                    pressed = str(name == tab).lower()
                    marks = {"data-act": "tab", "data-name": name, "aria-pressed": pressed}
                    html.button(name.capitalize(), type="button", **marks)
                self.score = ui.label("")
            with html.section(**{"aria-label": "Statement", "tabindex": 0}).classes("statement"):
                show_statement(self.place, self.info)
            html.div(role="separator", tabindex=0, **{"aria-label": "Width of the statement"}).classes(
                "divider"
            )
            with html.section(**{"aria-label": "Your file"}).classes("work"):
                self._work()
            result = html.section(**{"aria-label": "Verdict", "tabindex": 0}).classes("result")
            with result, html.div(**{"aria-live": "polite"}).classes("shown") as self.shown:
                self.verdict = ui.html("<p class='quiet'>Judging …</p>", sanitize=False)
        ui.timer(0.05, lambda: ui.run_javascript("openKata()"), once=True)

    def _work(self) -> None:
        with html.div(role="alert").classes("note conflict") as self.conflict:
            html.p("The file was changed by another program while you typed here.")
            html.button("Take the file", type="button").on("click", self._take_file)
            html.button("Keep what is here", type="button").on("click", self._keep_own)
        self.conflict.set_visibility(False)
        with html.div(role="alert").classes("note problem") as self.problem:
            self.told = ui.label("")
            self.again = html.button("Write it again", type="button").on("click", self._check)
        self.problem.set_visibility(False)
        if not self.info.kind.is_code:
            typed = self.place.typed.setdefault(self.info.name, {})
            self.questions = QuestionsView(typed, lambda: self.document.text, self._answer, self._check)
        else:
            self.editor = Editor(
                self.document.text,
                self._typed,
                self._focus,
                {
                    "Escape": leave_editor,
                    "Mod-Enter": self._check,
                    "Mod-s": self._check,
                    "F8": self.go_to_place,
                },
            ).classes("editor")
        self.toolbar = Toolbar(
            self.place,
            self.info,
            lambda: self.document.text,
            self.document.save,
            self._bring_back,
            self._focus,
        )
        with self.toolbar.status:
            self.status = ui.label("").props("role=status")
            self.seconds = ui.label("").props("aria-hidden=true")
            self.stop_button = html.button("Stop", type="button").on("click", self._stop)
        self._say("Judging …", is_work=True)

    def _keys(self) -> list[Shortcut]:
        field = ".editor .cm-content" if self.info.kind.is_code else "#main .questions input"
        return [
            Shortcut("e", "Go into the editor.", lambda: focus_on(field)),
            Shortcut("h", "Show the next hint.", self.toolbar.next_hint),
            Shortcut("g", "Go to the place in question.", self.go_to_place),
            Shortcut("t", "Try some lines.", lambda: self.toolbar.open("try", stays=True)),
            Shortcut("c", "Try the case that the verdict shows.", self.toolbar.try_case),
            Shortcut("n", "Go on to the next kata that does not pass.", self.next),
            Shortcut("p", "Go to the path.", lambda: ui.navigate.to("/")),
            Shortcut("s", "See the decoder at work.", lambda: ui.navigate.to("/see")),
            Shortcut("v", "Go to the verdict.", lambda: focus_on(".result")),
            Shortcut("u", "Bring back the version with the best score.", self.toolbar.best),
            Shortcut("x", "Bring back the stub.", self.toolbar.ask_stub),
        ]

    def _say(self, text: str, *, is_work: bool = False) -> None:
        """Say in the status line what is done, with the seconds and a way to stop it if that is work."""
        self.status.text, self.seconds.text = text, ""
        self._doing, self._began = text if is_work else "", time.monotonic()
        self.stop_button.set_visibility(is_work)

    def _stop(self) -> None:
        """End the judging, or the search after it, whose verdict then comes at once."""
        if self.shown_is_stale and self._task:
            self._task.cancel()
            self._say("Stopped. The next change is judged again.")
        self.place.judges.stop(self.info.library)

    # --- what is typed ---

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this, and stop what was being done before."""
        if self._task:
            self._task.cancel()
        self._task = background_tasks.create(work)

    def _check(self) -> None:
        self._start(self._save_and_judge())

    def _typed(self, text: str) -> None:
        """Take the text of the editor: what is typed, or what another program wrote and it now has."""
        if text == self.document.text:
            return
        self._take(text)
        self._start(self._judge() if self.document.is_saved else self._after_pause())

    def _take(self, text: str) -> None:
        """Take a text that is to be saved after a pause."""
        self.document.take(text)
        self._typed_at = time.monotonic()
        self._make_stale()
        self._say("Saving …")

    def _make_stale(self) -> None:
        self.shown_is_stale = True
        self.shown.classes(add="stale")

    async def _after_pause(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)
        await self._save_and_judge()

    async def _save_and_judge(self) -> None:
        if self._save():
            await self._judge()

    def _save(self) -> bool:
        """Write the text, and return whether it is in the file; if not, say why."""
        if self.conflict.visible:
            return False
        is_saved, self._tried_at = self.document.save(), time.monotonic()
        self._say("Saved." if is_saved else "Not saved.")
        self._tell("")
        self.conflict.set_visibility(not is_saved and not self.document.problem)
        return is_saved

    def _answer(self, text: str) -> None:
        """Take the text that a form has made; it is judged when that is asked for."""
        self._take(text)
        self._start(self._save_after_pause())

    async def _save_after_pause(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)
        self._save()

    def _tell_problem(self) -> None:
        """Say why the text is not in the file, as long as that is so, or else the last notice."""
        name, kept = self.document.path.name, "Your text is kept here"
        unwritten, is_gone = self.document.unwritten, self.document.is_gone
        text = self.document.problem or self.notice
        if unwritten:
            text = f"{unwritten} {kept}, and is written as soon as that works."
        elif is_gone:
            text = f"{name} was deleted by another program. {kept}."
        self.told.text = text
        self.again.set_visibility(is_gone and not unwritten)
        self.problem.set_visibility(bool(text))
        self.problem.classes(**{"add" if unwritten else "remove": "unsaved"})

    def _tell(self, notice: str) -> None:
        """Say what stays until the next text is saved."""
        self.notice = notice
        self._tell_problem()

    def _focus(self, event: CodeMirrorFocusChangeEventArguments) -> None:
        self.keyboard.active = not event.focused

    # --- what others write ---

    def _look_outside(self) -> None:
        seconds = int(time.monotonic() - self._began)
        self.seconds.text = f"{seconds} s" if self._doing and seconds else ""
        if self.conflict.visible or not self.client.has_socket_connection:
            return
        is_changed = self.document.changed_outside()
        self._tell_problem()
        if self.document.unwritten and time.monotonic() > self._tried_at + RETRY_SECONDS:
            self._check()
        if not is_changed or self.document.is_gone:
            return
        if self.document.is_saved:
            self._take_file()
        else:
            self.conflict.set_visibility(True)

    def _take_file(self) -> None:
        if not self.document.is_saved and not self._put_aside(self.document.text):
            return
        self.conflict.set_visibility(False)
        if self.editor:
            self.editor.replace(text := self.document.offer())
            if text != self.document.text:
                return  # it is judged once the editor has it
        if self.questions:
            self.document.take_from_disk()
            self.questions.fill()
        self._start(self._judge())

    def _keep_own(self) -> None:
        if not self._put_aside(text_of(self.document.path)):
            return
        self.conflict.set_visibility(False)
        self.document.save(over=True)
        self._start(self._judge())

    def _leave(self) -> None:
        """Write what is typed, or keep it aside if the file was changed; the browser is gone."""
        if not self.document.is_saved and not self.document.save():
            self._put_aside(self.document.text)

    def _put_aside(self, text: str) -> bool:
        """Keep a copy of a text that something else replaces, and return whether there is one."""
        try:
            self.place.versions.put_aside(self.info, text.encode("utf-8", "replace"))
        except OSError as error:
            self._tell(f"No copy of the file can be kept, so nothing is replaced: {reason_of(error)}.")
            return False
        return True

    def _bring_back(self, data: bytes) -> None:
        """Write a version to the file; a copy of what it held is kept."""
        self.document.save()
        try:
            self.place.versions.replace(self.info, self.document.path, data)
        except OSError as error:
            self._tell(f"{self.document.path.name} cannot be written: {reason_of(error)}.")
        else:
            self._take_file()

    # --- the verdict ---

    async def _judge(self) -> None:
        """Show the verdict on the file; again if another kata was judged instead."""
        text, info = self.document.text, self.info
        self._make_stale()
        self._say("Judging …", is_work=True)
        async with aclosing(self.place.judges.verdicts(info.library, info.name, self._typed_at)) as answers:
            async for answer in answers:
                if isinstance(answer, Verdict):
                    self._show(answer, text)
                else:
                    self._tell(answer.problem)
                    self._say("Not judged.")

    def _show(self, verdict: Verdict, text: str) -> None:
        report = self.report = verdict.report
        found = standings(self.course) if report.status == "passed" else []
        self.verdict.content = pages.fill(
            TEMPLATES / "verdict.html",
            kata=report,
            words=WORDS[report.status],
            was=verdict.was,
            is_page=not self.info.kind.is_code,
            waits=first_needed(self.course, self.info) if report.status == "waiting" else "",
            shown=shown(report) if found else "",
            way=verdict.way,
            following=next_kata(found, self.info.name) if found else None,
            done=next_line(self.course, found, self.info.name) if found else "",
            progress=self._progress(found),
            lesson=self._lesson() if found else "",
            prefix=self.prefix,
        )
        self.shown_is_stale = False
        self.shown.classes(remove="stale")
        mark = account.STATUS_MARKS.get(report.status, "✗")
        self.score.text = f"{mark} {points(report.score)} / {points(report.max_score)}"
        if verdict.is_last:
            is_saved = "Not saved." if self.document.problem else "Saved."
            self._say(f"{is_saved} Judged in {verdict.seconds:.2f} s." if report.checks else is_saved)
        else:
            self._say("Searching for the place …", is_work=True)
        if self.questions:
            self.questions.mark(report)
        if self.editor:
            self.marks, self._looked = marks_of(report), 0
            self.editor.underline(text, self.marks)
        if verdict.is_last and report.checks:
            self.place.history(self.info).add(report, text)
        self.toolbar.take(report)

    def _progress(self, found: list[Standing]) -> list[tuple[str, int, int]]:
        """Return how far the track is, and how many katas are left until the functions write a text."""
        passed = {one.info.name for one in found if one.has_passed}
        track = [one.info.name for one in found if one.info.track == self.info.track]
        lines = [(f"katas of {self.info.track} pass", track)]
        if self.info.name in self.place.parts:
            lines.append(("katas until your functions write a text", list(self.place.parts)))
        return [(what, len(passed.intersection(names)), len(names)) for what, names in lines if found]

    def _lesson(self) -> str:
        """Return the address of a text without what the kata's function does; "" if there is none."""
        part = (self.place.lessons or {}).get(self.info.name)
        return f"{self.prefix}/speak/{part}" if part else ""

    def go_to_place(self) -> None:
        """Show the next place in question, and say what was found there."""
        if self.marks and self.editor:
            mark = self.marks[self._looked % len(self.marks)]
            self._looked += 1
            self.editor.reveal_line(mark.place.line)
            ui.notify(f"line {mark.place.line}: {mark.text}", position="top", timeout=8000)

    def next(self) -> None:
        following = next_kata(standings(self.course), self.info.name)
        ui.navigate.to(f"/kata/{following.name}" if following else "/")
