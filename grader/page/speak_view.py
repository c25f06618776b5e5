"""A text that the student's functions write, live: a prompt, parts to leave out, and a look inside."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from nicegui import html, ui

from grader.page.keys import Key, focus_on, listen
from grader.page.messages import Dropped, Said, Written
from grader.page.workplace import Workplace, prefix
from grader.see.demonstration import open_demonstration
from grader.see.speech import MOST_CHARACTERS, SECTION, Setting, Speech, Wish, prompt_of

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
            with html.section(**{"aria-label": "What to write"}):
                html.h1(demonstration.titles.get(SECTION, demonstration.title))
                self._form(without)
            with html.section(**{"aria-label": "The text"}):
                self.note = ui.label("").classes("quiet")
                self.text = ui.label("").classes("text").props("role=status")
                self.remarks = html.div().classes("remarks")
                self.frame = html.iframe(title="Inside the text", sandbox="allow-scripts")
                self.frame.set_visibility(False)
        listen(
            [
                Key("p", "Go to the path.", lambda: ui.navigate.to("/")),
                Key("t", "Type a prompt.", lambda: focus_on(".speak input")),
            ],
            (("Enter", "Write, in the prompt."),),
        )
        ui.timer(0.05, self.write, once=True)

    def _form(self, without: str) -> None:
        self.prompt = ui.input("After these words", value=self.speech.prompt).props(
            f"maxlength={MOST_CHARACTERS} outlined"
        )
        self.prompt.on("keydown.enter", self.write)
        html.button("Write", type="button").classes("first").on("click", self.write)
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
        async with aclosing(self.place.judges.speak(self._wish(), self.mine.value)) as answers:
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
        with self.remarks:
            for remark in written.remarks:
                html.p(remark)
        if written.inside:
            self.frame.props["src"] = f"{self.prefix}{self.place.keep(written.inside)}"
            self.frame.set_visibility(True)
            self.text.set_visibility(False)  # the frame shows it, token by token
