"""One kata: its statement, an editor for its file, and the verdict, a quarter of a second after a pause.

The editor, and which parts of a text it underlines: where the report found or proved something.

A page of questions as a form: each constant of the file, the text above it, and a field for its value.

A page of questions as a form, which is judged as a whole.

Try: lines that run after the file, what they print, and their last value as a picture.

The versions of a file: those that were judged, the best one, and the stub.

The file of a kata as an editor holds it: read, saved, and compared with what others write to it.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from nicegui import background_tasks, html, ui
from nicegui.events import (
    CodeMirrorFocusChangeEventArguments,
    GenericEventArguments,
    ValueChangeEventArguments,
)

from grader.course.catalog import KataInfo
from grader.course.files import Folder, NotReadable, from_here, read_file, text_of
from grader.course.state import BEST, STUBS, next_hint, next_number, statement_of, stub_source
from grader.drawing import statement, svg
from grader.errors import reason_of
from grader.extra.notebooks.notebook import to_markdown
from grader.extra.page.messages import Dropped, Tried, Verdict
from grader.extra.page.workplace import Key, Workplace, focus_on, leave_editor, listen, prefix
from grader.formats import account, pages
from grader.grading.standings import after_pass, first_needed, next_kata, shown, standings
from grader.report import KataReport, Place


class Document:
    """The text of a file, with line feeds alone. `problem` says why it cannot be edited; nothing is then
    written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self.text = ""
        self._saved = b""  # what the file held when this was last in agreement with it
        self.take_from_disk()

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
        meanwhile, unless `over` is true, nor if it cannot be written."""
        if self.is_saved and self.path.exists():
            return True
        if not over and self.changed_outside():
            return False
        data = self._encoded(self.text)
        try:
            with Folder(self.path.parent, makes=True, follows_links=False) as folder:
                folder.write(self.path.name, data=data)
        except NotReadable as error:
            self.problem = f"{self.path.parent.name} {error.strerror}, so {self.path.name} is not written."
            return False
        except OSError as error:
            self.problem = f"{self.path.name} cannot be written: {reason_of(error)}."
            return False
        self._saved, self.problem = data, ""
        return True

    def _encoded(self, text: str) -> bytes:
        """Return the text as bytes, with the line ends that the file had."""
        end = "\r\n" if b"\r\n" in self._saved else "\n"
        return text.replace("\n", end).encode("utf-8", "replace")

    def _read(self) -> bytes | None:
        """Return what the file holds, nothing if there is none; None if it cannot be edited."""
        self.problem = ""
        try:
            data = read_file(self.path)
            data.decode()
        except FileNotFoundError:
            return b""
        except UnicodeDecodeError:
            self.problem = f"{self.path.name} is not encoded as UTF-8; save it as UTF-8 to edit it here."
        except NotReadable as error:
            self.problem = f"{self.path.name} {error.strerror}."
        except OSError as error:
            self.problem = f"{self.path.name} cannot be read: {reason_of(error)}."
        else:
            return data
        return None


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


OPEN = "..."


@dataclass(frozen=True)
class Asked:
    """A constant, the comment above it, and its value as it is written; empty if it is not answered."""

    name: str
    text: str
    value: str


def asked_in(source: str) -> list[Asked]:
    """Return the constants of a file in their order; none if it is no Python."""
    lines = source.split("\n")
    found = []
    for node in _constants(source):
        text = _text(node)
        value = ast.get_source_segment(source, node.value) or "" if text is None else text
        comment: list[str] = []
        above = node.lineno - 2
        while above >= 0 and lines[above].startswith("#"):
            comment.insert(0, lines[above].lstrip("# "))
            above -= 1
        beside = lines[(node.end_lineno or node.lineno) - 1].partition("#")[2].strip()
        found.append(Asked(_name(node), " ".join(comment) or beside, "" if value == OPEN else value))
    return found


def with_answer(source: str, name: str, value: str) -> str:
    """Return the file with another value of a constant; `...` for an empty one. What is a text there needs no
    quotes. Raises SyntaxError if the value is no expression."""
    node = next(node for node in _constants(source) if _name(node) == name)
    value = value.strip() if _text(node) is None else repr(value.strip())
    ast.parse(value or OPEN, mode="eval")
    before, after = _split(source, node.value)
    return f"{before}{value or OPEN}{after}"


def _constants(source: str) -> Iterator[ast.Assign]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _name(node) != "ROW":
            yield node


def _text(node: ast.Assign) -> str | None:
    """Return the text that a constant holds; None if it holds something else."""
    value = node.value.value if isinstance(node.value, ast.Constant) else None
    return value if isinstance(value, str) else None


def _name(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0])


def _split(source: str, node: ast.expr) -> tuple[str, str]:
    """Return what stands before an expression and after it; the columns of the tree are in bytes."""
    lines = source.encode().split(b"\n")
    last = (node.end_lineno or node.lineno) - 1
    before = b"\n".join([*lines[: node.lineno - 1], lines[node.lineno - 1][: node.col_offset]])
    after = b"\n".join([lines[last][node.end_col_offset :], *lines[last + 1 :]])
    return before.decode(), after.decode()


class QuestionsView:
    """A field for each question. `take` is called with the text of the file once it has the answers."""

    def __init__(self, document: Document, take: Callable[[str], None]) -> None:
        self.document, self.take = document, take
        self.typed: dict[str, str] = {}  # since the page was checked
        self.names: dict[int, str] = {}  # of the constants, by their fields
        with html.div(role="form", **{"aria-label": "Questions"}).classes("questions"):
            for one in asked_in(document.text):
                html.label(one.text or one.name, **{"for": f"answer-{one.name}"})
                with html.div():
                    html.code(one.name)
                    field = ui.input(value=one.value, on_change=self._note).props("dense outlined")
                    field.props["for"] = f"answer-{one.name}"
                    field.on("keydown.enter", self.check)
                    self.names[field.id] = one.name
            self.refused = ui.label("").props("role=alert").classes("bad")
            html.button("Check this page", type="button").classes("first").on("click", self.check)

    def _note(self, event: ValueChangeEventArguments[str | None]) -> None:
        self.typed[self.names[event.sender.id]] = (event.value or "")[:1000]

    def check(self) -> None:
        """Write the answers into the file, or say which one is no value."""
        text = self.document.text
        for name, value in self.typed.items():
            try:
                text = with_answer(text, name, value)
            except (SyntaxError, ValueError, RecursionError, MemoryError, StopIteration):
                self.refused.text = f"{name}: {value[:100]} is no value. Write a number, or (2, 3), or True."
                return
        self.refused.text = ""
        self.typed.clear()
        self.take(text)


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
