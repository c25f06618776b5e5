"""A page of questions as a form, which is judged as a whole."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import html, ui
from nicegui.events import ValueChangeEventArguments

from grader.page.document import Document
from grader.page.questions import asked_in, with_answer


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
