"""A text that the student's functions write, live: a prompt, parts to leave out, and a look inside."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import partial

from nicegui import html, ui

from grader.page.keys import Key, focus_on, listen
from grader.page.messages import Dropped, Said, Written
from grader.page.workplace import Workplace, prefix
from grader.see.demonstration import open_demonstration
from grader.see.speech import SECTION, Speech, Wish, prompt_of

RECORDED = "Recorded, from the course's own functions:"


class SpeakView:
    """The form on the left, the text on the right, and below it what each token was chosen from."""

    def __init__(self, place: Workplace, without: str = "") -> None:
        self.place, self.without, self.values = place, dict[str, bool](), dict[str, float]()
        demonstration = open_demonstration(place.course)
        assert demonstration.speech is not None  # the server offers this view only then
        self.speech: Speech = demonstration.speech
        self.way, self.mine, self.prefix = "", False, prefix()
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
        self.prompt = ui.input("After these words", value=self.speech.prompt).props("maxlength=2000 outlined")
        self.prompt.on("keydown.enter", self.write)
        html.button("Write", type="button").classes("first").on("click", self.write)
        with html.fieldset():
            html.legend("Leave out")
            for name, switch in self.speech.switches.items():
                self.without[name] = name == without
                ui.checkbox(
                    switch.name, value=self.without[name], on_change=partial(self._leave_out, name)
                ).tooltip(switch.effect)
        with html.fieldset():
            html.legend("Write with")
            ways = {name: f"{name}: {way.about}" for name, way in self.speech.ways.items()}
            ways = {"": "the parts", **ways}
            ui.radio(ways, value="", on_change=lambda event: self._set("way", event.value))
            ui.checkbox(
                "functions that do not pass, too", on_change=lambda event: self._set("mine", event.value)
            )
        with html.fieldset():
            html.legend("Choose a token")
            for name, setting in self.speech.settings.items():
                self._setting(name, setting.low, setting.high, setting.step, setting.about)

    def _setting(self, name: str, low: float, high: float, step: float, about: str) -> None:
        box = ui.checkbox(f"{name}: {about}")
        slider = ui.slider(min=low, max=high, step=step, value=(low + high) / 2).props("label")
        slider.props(f'aria-label="{name}"').bind_visibility_from(box, "value")

        def changed() -> None:
            self.values.pop(name, None)
            if box.value:
                self.values[name] = float(slider.value)
            self.write()

        box.on_value_change(changed)
        slider.on("change", changed)

    def _leave_out(self, name: str, event: ui.checkbox) -> None:
        self.without[name] = bool(event.value)
        self.write()

    def _set(self, name: str, value: object) -> None:
        setattr(self, name, value)
        self.write()

    def write(self) -> None:
        """Begin the text anew."""
        if self.writing is not None:
            self.writing.cancel()
        self.writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        without = tuple(name for name, is_out in self.without.items() if is_out)
        wish = Wish(prompt_of(self.prompt.value or ""), without, self.way, dict(self.values))
        self.note.text, self.text.text = "Loading your functions …", ""
        self.text.set_visibility(True)
        self.remarks.clear()
        self.frame.set_visibility(False)
        async with aclosing(self.place.judges.speak(wish, self.mine)) as answers:
            async for answer in answers:
                match answer:
                    case Said():
                        self.note.text = ""
                        self.text.text += answer.text
                    case Written():
                        self._show(answer, without)
                    case Dropped() if answer.problem:
                        self.note.text = answer.problem

    def _show(self, written: Written, without: tuple[str, ...]) -> None:
        self.note.text = RECORDED if written.is_recorded and self.text.text else ""
        with self.remarks:
            for name in without if not written.is_recorded else ():
                html.p(f"Without {self.speech.switches[name].name}: {self.speech.switches[name].effect}")
            for remark in written.remarks:
                html.p(remark)
        if written.inside:
            self.frame.props["src"] = f"{self.prefix}{self.place.keep(written.inside)}"
            self.frame.set_visibility(True)
            self.text.set_visibility(False)  # the frame shows it, token by token
