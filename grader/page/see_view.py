"""What the course shows with the student's functions, as they are now, in a frame of its own."""

from __future__ import annotations

from contextlib import aclosing

from nicegui import html, ui

from grader.page.keys import Key, listen
from grader.page.messages import Page
from grader.page.workplace import Workplace, prefix


class SeeView:
    """The frame; its page is made anew whenever this view opens."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        with html.div(id="main").classes("see"):
            self.told = ui.label("Running your functions …").props("role=status").classes("quiet told")
            self.frame = html.iframe(title="Your functions at work", sandbox="allow-scripts")
            self.frame.set_visibility(False)
        listen([Key("p", "Go to the path.", lambda: ui.navigate.to("/"))])
        ui.timer(0.05, self.show, once=True)

    async def show(self) -> None:
        async with aclosing(self.place.judges.see("")) as answers:
            async for answer in answers:
                if isinstance(answer, Page):
                    self.frame.props["src"] = f"{prefix()}{self.place.keep(answer.html)}"
                    self.frame.set_visibility(True)
                    self.told.set_visibility(False)
                else:
                    self.told.text = (
                        getattr(answer, "problem", "") or "Another question came first; open this again."
                    )
