"""The path: all katas with their state, found by a part of their names, and where to go on.

What the course shows with the student's functions, as they are now, in a frame of its own.

A text that the student's functions write, live: a prompt, parts to leave out, and a look inside.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import aclosing
from itertools import groupby
from pathlib import Path

from nicegui import html, ui
from nicegui.events import GenericEventArguments

from dojo_page.judges import end
from dojo_page.messages import Dropped, Said, Written
from dojo_page.review_view import due_today
from dojo_page.workplace import Shortcut, Workplace, focus_on, listen, prefix
from dojo_show.demonstration import open_demonstration
from dojo_show.speech import MOST_CHARACTERS, SECTION, Setting, Speech, Wish, prompt_of
from grader.course.catalog import Course, KataInfo
from grader.errors import CourseError
from grader.formats import pages
from grader.grading.standings import Standing, matches, next_kata, standings

RECORDED = "Recorded, from the course's own functions:"


class SpeakView:
    """The form on the left, the text on the right, and below it what each token was chosen from."""

    def __init__(self, place: Workplace, without: str = "") -> None:
        self.place, self.prefix = place, prefix()
        demonstration = open_demonstration(place.course)
        assert demonstration.speech is not None  # the server offers this view only then
        self.speech: Speech = demonstration.speech
        self.writing: asyncio.Task[None] | None = None
        with html.div(id="main").classes("speak"):
            with html.section(**{"aria-label": "The text"}):
                html.h1(demonstration.titles.get(SECTION, demonstration.title))
                self.note = ui.label("").classes("quiet")
                with html.div().classes("stories"):
                    self.text = ui.label("").classes("text").props("role=status")
                    with html.div().classes("text whole") as self.beside:
                        html.p("With all parts, as recorded:").classes("quiet small")
                        self.whole = ui.label("")
                self.beside.set_visibility(False)
                self.remarks = html.div().classes("remarks")
                self.frame = html.iframe(title="Inside the text", sandbox="allow-scripts")
                self.frame.set_visibility(False)
            with html.section(**{"aria-label": "What to write"}):
                self._form(without)
        listen(
            [
                Shortcut("p", "Go to the path.", lambda: ui.navigate.to("/")),
                Shortcut("t", "Type a prompt.", lambda: focus_on(".speak input")),
            ],
            (("Enter", "Write, in the prompt."),),
        )
        ui.timer(0.05, self.write, once=True)

    def _form(self, without: str) -> None:
        self.prompt = ui.input("After these words", value=self.speech.prompt).props(
            f"maxlength={MOST_CHARACTERS} outlined"
        )
        self.prompt.on("keydown.enter", self.write)
        self.button = html.button("Write", type="button").classes("first").on("click", self.write)
        with html.fieldset():
            html.legend("Leave out")
            self.switches = {
                name: ui.checkbox(switch.name, value=name == without, on_change=self.write)
                for name, switch in self.speech.switches.items()
            }
            for name, box in self.switches.items():
                box.tooltip(self.speech.switches[name].effect)
        with html.fieldset():
            html.legend("Write with")
            ways = {name: f"{name}: {way.about}" for name, way in self.speech.ways.items()}
            self.way = ui.radio({"": "the parts", **ways}, value="", on_change=self.write)
            self.mine = ui.checkbox("functions that do not pass, too", on_change=self.write)
        with html.fieldset():
            html.legend("Choose a token")
            self.settings = {
                name: self._setting(name, setting) for name, setting in self.speech.settings.items()
            }

    def _setting(self, name: str, setting: Setting) -> tuple[ui.checkbox, ui.slider]:
        """Return whether a number is set, and the number."""
        box = ui.checkbox(f"{name}: {setting.about}", on_change=self.write)
        middle = (setting.low + setting.high) / 2
        slider = ui.slider(min=setting.low, max=setting.high, step=setting.step, value=middle)
        slider.props("label").props(f'aria-label="{name}"').bind_visibility_from(box, "value")
        slider.on("change", self.write)
        return box, slider

    def _wish(self) -> Wish:
        """Return what the form asks for."""
        without = tuple(name for name, box in self.switches.items() if box.value)
        settings = {name: float(slider.value) for name, (box, slider) in self.settings.items() if box.value}
        return Wish(prompt_of(self.prompt.value or ""), without, self.way.value, settings)

    def write(self) -> None:
        """Begin the text anew."""
        if self.writing is not None:
            self.writing.cancel()
        self.writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        self.note.text, self.text.text = "Loading your functions …", ""
        self.text.set_visibility(True)
        self.remarks.clear()
        self.frame.set_visibility(False)
        self.beside.set_visibility(False)
        async with aclosing(self.place.judges.speak(self._wish(), mine=self.mine.value)) as answers:
            async for answer in answers:
                match answer:
                    case Said():
                        self.note.text = ""
                        self.text.text += answer.text
                    case Written():
                        self._show(answer)
                    case Dropped() if answer.problem:
                        self.note.text = answer.problem

    def _show(self, written: Written) -> None:
        self.note.text = RECORDED if written.is_recorded and self.text.text else ""
        self.whole.text = written.beside
        self.beside.set_visibility(bool(written.beside))
        controls: list[ui.input | ui.radio | ui.checkbox] = [self.prompt, self.way]
        for control in [*controls, *(box for box, _ in self.settings.values())]:
            control.set_enabled(not written.is_recorded)  # what waits for the student's own functions
        self.button.props(**{"add" if written.is_recorded else "remove": "disabled"})
        with self.remarks:
            for remark in written.remarks:
                html.p(remark)
        if written.inside:
            self.frame.props["src"] = f"{self.prefix}{self.place.keep(written.inside)}"
            self.frame.set_visibility(True)
            self.text.set_visibility(False)  # the frame shows it, token by token


class SeeView:
    """The frame; `grade see` makes its page anew whenever this view opens."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        with html.div(id="main").classes("see"):
            self.told = ui.label("Running your functions …").props("role=status").classes("quiet told")
            self.frame = html.iframe(title="Your functions at work", sandbox="allow-scripts")
            self.frame.set_visibility(False)
        listen([Shortcut("p", "Go to the path.", lambda: ui.navigate.to("/"))])
        ui.timer(0.05, self.show, once=True)

    async def show(self) -> None:
        """Make the page in another process, which starts workers of its own."""
        terms = self.place.judges.terms
        options = {"course": terms.root, "exercises": terms.exercises}
        options |= {"device": terms.device, "isolation": terms.isolation}
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "see.html"
            words = [f"--{name}={value}" for name, value in {**options, "output": page}.items()]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "grader.cli.grade", "see", "--mine", *words),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                _, said = await process.communicate()
            finally:  # also when the view is closed before
                await end(process, wait=0.0)
            if process.returncode:
                self.told.text = said.decode(errors="replace").strip().rpartition("\n")[2]
                return
            self.frame.props["src"] = f"{prefix()}{self.place.keep(page.read_text(encoding='utf-8'))}"
        self.frame.set_visibility(True)
        self.told.set_visibility(False)


TEMPLATES = Path(__file__).parent / "templates"


class PathView:
    """The list of all katas; a search takes names, titles, tracks and the names that people know."""

    def __init__(self, place: Workplace) -> None:
        self.place, self.course = place, place.course
        self.found = standings(self.course)
        self.plan, self.text = "", ""
        with html.div(id="main").classes("path"):
            self._head()
            self.list = ui.html("", sanitize=False).classes("tracks")
        self._show()
        ui.timer(0.1, lambda: focus_on(".path .first"), once=True)  # so that Enter goes on
        listen(
            [
                Shortcut("n", "Go on where you were.", self.go_on),
                Shortcut(
                    "/", "Search.", lambda: ui.run_javascript("document.getElementById('search').focus()")
                ),
                Shortcut("s", "See the decoder at work.", lambda: ui.navigate.to("/see")),
            ]
        )

    def _head(self) -> None:
        passed = sum(one.has_passed for one in self.found)
        html.h1(self.course.syllabus.title)
        html.p(self.course.syllabus.about).classes("quiet")
        ui.html(
            pages.fill(TEMPLATES / "progress.html", lines=[("katas pass", passed, len(self.found))]),
            sanitize=False,
        )
        if due := due_today(self.place):
            with html.section(**{"aria-label": "Review"}).classes("due"):
                html.p(f"To review today: {', '.join(info.name for info in due)}")
                html.button("Review", type="button").on("click", lambda: ui.navigate.to("/review"))
        if trouble := self.place.state.trouble():
            html.p(trouble)
        with html.div().classes("tools"):
            following = self._following()
            if following:
                begun = any(one.mark for one in self.found)
                html.button(f"{'Go on' if begun else 'Begin'}: {following.name}", type="button").classes(
                    "first"
                ).on("click", self.go_on)
            search = html.input_(
                id="search", type="search", placeholder="Search", **{"aria-label": "Search the katas"}
            )
            search.on("input", self._search, js_handler="(event) => emit(event.target.value)")
            search.on("keydown.enter", self._open_first)
            if self.course.syllabus.plans:
                with html.select(**{"aria-label": "Plan"}).on(
                    "change", self._choose, js_handler="(event) => emit(event.target.value)"
                ):
                    html.option("all katas", value="")
                    for name in self.course.syllabus.plans:
                        html.option(f"plan {name}", value=name)

    def _following(self) -> KataInfo | None:
        """Return the kata that was saved last and does not pass, or else the next one."""
        begun = [one.info for one in self.found if one.mark == "begun" and not one.state.has_passed]
        saved = max(begun, key=lambda info: self.course.stub(info).stat().st_mtime_ns, default=None)
        return saved or next_kata(self.found, "")

    def go_on(self) -> None:
        following = self._following()
        if following:
            ui.navigate.to(f"/kata/{following.name}")

    def _search(self, event: GenericEventArguments) -> None:
        self.text = str(event.args)[:100]
        self._show()

    def _choose(self, event: GenericEventArguments) -> None:
        self.plan = str(event.args)
        self._show()

    def _open_first(self) -> None:
        if shown := self._shown():
            ui.navigate.to(f"/kata/{shown[0].info.name}")

    def _shown(self) -> list[Standing]:
        plan = self.course.syllabus.plans.get(self.plan)
        found = [one for one in self.found if plan is None or one.info.name in plan.katas]
        meant = _meant(self.course, self.text) if self.text else set()
        return [one for one in found if matches(one.info, self.text) or one.info.name in meant]

    def _show(self) -> None:
        grouped = groupby(self._shown(), key=lambda one: one.info.track)
        tracks = [(track, list(ones)) for track, ones in grouped]
        efforts = self.course.syllabus.katas
        following = self._following()
        self.list.content = pages.fill(
            TEMPLATES / "path.html",
            tracks=tracks,
            efforts=efforts,
            purposes=self.course.syllabus.tracks,
            following=following.name if following else "",
            prefix=prefix(),
        )


def _meant(course: Course, word: str) -> set[str]:
    """Return the katas that a word means as it does for `grade`: an alias, a path, a track."""
    try:
        return {info.name for info in course.katas_meant(word)}
    except CourseError:
        return set()
