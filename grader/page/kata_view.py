"""One kata: its statement, an editor for its file, and the verdict, a quarter of a second after a pause."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from nicegui import background_tasks, html, ui
from nicegui.events import CodeMirrorFocusChangeEventArguments, ValueChangeEventArguments

from grader.course.catalog import KataInfo
from grader.course.changed_statement import statement_of
from grader.course.files import text_of
from grader.course.hints import next_hint, next_number
from grader.course.state import STUBS
from grader.drawing import statement, svg
from grader.errors import reason_of
from grader.formats import pages
from grader.grading.standings import after_pass, first_needed, next_kata, shown, standings
from grader.notebooks.notebook import to_markdown
from grader.page.document import Document
from grader.page.editor import Editor, Mark, decorations, marks_of, tooltips
from grader.page.keys import Key, focus_on, leave_editor, listen
from grader.page.messages import Dropped, Verdict
from grader.page.questions_view import QuestionsView
from grader.page.trial_view import TrialView
from grader.page.versions_view import VersionsView
from grader.page.workplace import Workplace, prefix
from grader.report import KataReport

TEMPLATES = Path(__file__).parent / "templates"
#: The elements of a statement, which may be a student's own docstring: no link, no image, no HTML.
MARKDOWN = MarkdownIt("zero").enable(["heading", "fence", "list", "emphasis", "backticks", "escape"])
LONGEST = 1 << 16  # characters of a statement that are shown
SAVE_SECONDS = 0.3  # after the last key
QUIET_SECONDS = 1.5  # after the last key, before a syntax error is shown
LOOK_SECONDS = 0.5  # between two looks at the file
WORDS = {
    "passed": "",
    "failed": "",
    "not_started": "not started",
    "waiting": "waits",
    "error": "cannot be read",
}
IN_EDITOR = (
    ("Escape", "Leave the editor."),
    ("Ctrl-Enter", "In the editor: judge at once. In Try: run the lines."),
    ("F8", "In the editor: go to the place in question."),
)


class KataView:
    """The page of one kata. What is typed goes to the file that every other editor sees."""

    def __init__(self, place: Workplace, info: KataInfo) -> None:
        self.place, self.info, self.course = place, info, place.course
        self.document = Document(self.course.stub(info))
        self.report: KataReport | None = None
        self.marks: list[Mark] = []
        self._typed_at = 0.0
        self._task: asyncio.Task[Any] | None = None
        self._looked = 0  # at which of the marks
        self.prefix = prefix()
        if not place.state.kata(info.name).digest:
            place.versions.keep(STUBS, info, self.document.path)
        self._build()
        self.keyboard = listen(self._keys(), IN_EDITOR)
        ui.timer(LOOK_SECONDS, self._look_outside)
        self.client = ui.context.client
        self.client.on_disconnect(self._leave)
        self._start(self._judge())

    # --- what one sees ---

    def _build(self) -> None:
        with html.div(id="main").classes("kata"):
            with html.section(**{"aria-label": "Statement", "tabindex": 0}).classes("statement"):
                self._statement()
            with html.section(**{"aria-label": "Your file"}).classes("work"):
                self._editor()
            with html.section(**{"aria-label": "Verdict", "tabindex": 0}).classes("result"):
                self._result()

    def _statement(self) -> None:
        effort = self.course.syllabus.katas.get(self.info.name)
        minutes = f", {effort.minutes} minutes" if effort else ""
        html.p(f"{self.info.track} · {self.info.name}{minutes}").classes("quiet small")
        text = self._statement_text()
        markdown = to_markdown(text[:LONGEST]).removeprefix("#")
        ui.html(MARKDOWN.render(markdown), sanitize=False)
        for picture in statement.pictures(text):
            ui.html(svg.draw(picture), sanitize=False)
        if waits := first_needed(self.course, self.info):
            html.p(waits).classes("note")

    def _statement_text(self) -> str:
        """Return the docstring of the file, or that of the stub if the file has none."""
        stub = (self.place.versions.kept(STUBS, self.info) or b"").decode(errors="replace")
        return statement_of(self.document.text) or statement_of(stub) or self.info.title

    def _editor(self) -> None:
        with html.div(role="alert").classes("note conflict") as self.conflict:
            html.p("The file was changed by another program while you typed here.")
            html.button("Take the file", type="button").on("click", self._take_file)
            html.button("Keep what is here", type="button").on("click", self._keep_own)
        self.conflict.set_visibility(False)
        self.problem = ui.label("").props("role=alert").classes("note")
        self.problem.set_visibility(False)
        if self.info.questions:
            QuestionsView(self.document, self._answer)
        self.editor = Editor(
            self.document.text,
            language="Python",
            on_change=self._typed,
            on_focus_change=self._focus,
            keymap={
                "Escape": leave_editor,
                "Mod-Enter": lambda: self._start(self._save_and_judge()),
                "Mod-s": lambda: self._start(self._save_and_judge()),
                "F8": self.go_to_place,
            },
        ).classes("editor")
        ui.timer(0.05, self._open_editor, once=True)

    async def _open_editor(self) -> None:
        """Choose the colours, give the field a name, and begin where the code begins."""
        if not self.info.questions:  # whose form comes first
            self.editor.reveal_line(_first_line_of_code(self.document.text))
        is_dark = await ui.run_javascript(
            "document.querySelectorAll('.cm-content').forEach((one, n) => one.setAttribute('aria-label',"
            " n ? 'Lines to try' : 'Your file'));"
            "document.querySelectorAll('.cm-scroller, pre').forEach(one => one.tabIndex = 0);"
            "return matchMedia('(prefers-color-scheme: dark)').matches"
        )
        for editor in (self.editor, self.trial.lines):
            editor.theme = "githubDark" if is_dark else "githubLight"

    def _result(self) -> None:
        with html.div(**{"aria-live": "polite"}).classes("shown") as self.shown:
            self.verdict = ui.html("<p class='quiet'>Judging …</p>", sanitize=False)
        with html.div().classes("tools"):
            with html.button(type="button").on("click", self.hint):
                self.hint_label = ui.label("Hint")
            html.button("Next kata", type="button").on("click", self.next)
            html.button("Try this case", type="button").on("click", self.try_case)
        self.hints = html.div(**{"aria-live": "polite"}).classes("hints")
        self.trial = TrialView(self.place, self.info, self.document.save, self._focus)
        self.versions = VersionsView(self.place, self.info, self._bring_back)

    def _keys(self) -> list[Key]:
        return [
            Key("e", "Go into the editor.", lambda: focus_on(".editor .cm-content")),
            Key("h", "Show the next hint.", self.hint),
            Key("g", "Go to the place in question.", self.go_to_place),
            Key("t", "Try some lines.", self.trial.open),
            Key("c", "Try this case.", self.try_case),
            Key("n", "Go on to the next kata that does not pass.", self.next),
            Key("p", "Go to the path.", lambda: ui.navigate.to("/")),
            Key("s", "See the decoder at work.", lambda: ui.navigate.to("/see")),
            Key("v", "Go to the verdict.", lambda: focus_on(".result")),
            Key("u", "Bring back the version with the best score.", self.versions.best),
            Key("x", "Bring back the stub.", self.versions.ask_stub),
        ]

    # --- what is typed ---

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this, and stop what was being done before."""
        if self._task:
            self._task.cancel()
        self._task = background_tasks.create(work)

    def _typed(self, event: ValueChangeEventArguments[str]) -> None:
        if event.value == self.document.text:
            return
        self.document.text, self._typed_at = event.value, time.monotonic()
        self.shown.classes(add="stale")
        self._start(self._after_pause())

    async def _after_pause(self) -> None:
        await asyncio.sleep(SAVE_SECONDS)
        await self._save_and_judge()

    async def _save_and_judge(self) -> None:
        if self.conflict.visible:
            return
        if self.document.save():
            self._tell("")
            await self._judge()
        else:
            self._tell(self.document.problem)
            self.conflict.set_visibility(not self.document.problem)

    def _tell(self, problem: str) -> None:
        self.problem.text = problem
        self.problem.set_visibility(bool(problem))

    def _focus(self, event: CodeMirrorFocusChangeEventArguments) -> None:
        self.keyboard.active = not event.focused

    # --- what others write ---

    def _look_outside(self) -> None:
        if self.conflict.visible or not self.client.has_socket_connection:
            return
        before, is_changed = self.document.problem, self.document.changed_outside()
        if self.document.problem != before:
            self._tell(self.document.problem)
        if not is_changed:
            return
        if self.document.is_saved:
            self._take_file()
        else:
            self.conflict.set_visibility(True)

    def _take_file(self) -> None:
        if not self.document.is_saved and not self._put_aside(self.document.text):
            return
        self.conflict.set_visibility(False)
        self.document.take_from_disk()
        self.editor.value = self.document.text
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

    # --- the verdict ---

    async def _judge(self) -> None:
        """Show the verdict on the file; again if another kata was judged instead."""
        text, was_dropped = self.document.text, True
        while was_dropped:
            was_dropped = False
            async with aclosing(self.place.judges.grade(self.info.library, self.info.name)) as answers:
                async for answer in answers:
                    if isinstance(answer, Verdict):
                        await self._wait_for_pause(answer.report)
                        self._show(answer, text)
                    elif isinstance(answer, Dropped):
                        was_dropped = not answer.problem
                        self._tell(answer.problem)
            if was_dropped:
                await self.place.judges.rest(self.info.library)

    async def _wait_for_pause(self, report: KataReport) -> None:
        """Wait until a syntax error is no longer one that is being typed."""
        if report.excerpt:
            await asyncio.sleep(max(0.0, self._typed_at + QUIET_SECONDS - time.monotonic()))

    def _show(self, verdict: Verdict, text: str) -> None:
        report = self.report = verdict.report
        notes: list[str] = []
        if report.status == "passed":
            found = standings(self.course)
            notes = [
                note
                for note in (shown(report), verdict.way, after_pass(self.course, self.info, found))
                if note
            ]
        elif report.status == "waiting":
            notes = [first_needed(self.course, self.info)]
        self.verdict.content = pages.fill(
            TEMPLATES / "verdict.html",
            kata=report,
            words=WORDS[report.status],
            changed=verdict.changed,
            seconds=verdict.seconds,
            notes=notes,
            lesson=self._lesson() if report.status == "passed" else "",
        )
        self.shown.classes(remove="stale")
        self.marks, self._looked = marks_of(report), 0
        self.editor.decorations = decorations(text, self.marks)
        self.editor.line_tooltips = tooltips(self.marks)
        if verdict.is_last and report.checks:
            self.place.history(self.info).add(report, text)
        self._show_hint_number()

    def _lesson(self) -> str:
        """Return the address of a text without what the kata's function does; "" if there is none."""
        part = (self.place.lessons or {}).get(self.info.name)
        return f"{self.prefix}/speak/{part}" if part else ""

    def go_to_place(self) -> None:
        """Show the next place in question, and say what was found there."""
        if self.marks:
            mark = self.marks[self._looked % len(self.marks)]
            self._looked += 1
            self.editor.reveal_line(mark.place.line)
            ui.notify(f"line {mark.place.line}: {mark.text}", position="top", timeout=8000)

    # --- what one asks for ---

    def _show_hint_number(self) -> None:
        number = next_number(self.info, self.place.state.kata(self.info.name)) if self.info.hints else 0
        self.hint_label.text = f"Hint {number} of {len(self.info.hints)}" if number else "Hint"

    def hint(self) -> None:
        text = next_hint(self.course, self.info, again="")
        with self.hints:
            ui.html(pages.fill(TEMPLATES / "hint.html", text=text), sanitize=False)
        self._show_hint_number()

    def next(self) -> None:
        following = next_kata(standings(self.course), self.info.name)
        ui.navigate.to(f"/kata/{following.name}" if following else "/")

    async def try_case(self) -> None:
        """Put the call that fails into the lines to try, and run it."""
        snippets = [check.snippet for check in self.report.checks if check.snippet] if self.report else []
        if not snippets:
            ui.notify("There is no failing call that can be written as short code.", position="top")
            return
        await self.trial.run_case(snippets[0])

    def _answer(self, text: str) -> None:
        """Take the text that a form has made."""
        self.document.text = self.editor.value = text
        self._start(self._save_and_judge())

    def _bring_back(self, data: bytes) -> None:
        """Write a version to the file; a copy of what it held is kept."""
        self.document.save()
        try:
            self.place.versions.replace(self.info, self.document.path, data)
        except OSError as error:
            self._tell(f"{self.document.path.name} cannot be written: {reason_of(error)}.")
        else:
            self._take_file()


def _first_line_of_code(text: str) -> int:
    """Return the line of the first function, class or constant; 1 if there is none."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 1
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Assign)
    return next((node.lineno for node in body if isinstance(node, kinds)), 1)
