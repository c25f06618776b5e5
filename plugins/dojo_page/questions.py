"""A page of questions as a form: each constant of the file, the text above it, and a field for its value.

An answer is in the file as soon as it is a value; the page is judged as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nicegui import html, ui
from nicegui.events import ValueChangeEventArguments

from grader.course.renaming import statement_of
from grader.course.submission import SubmissionRejected, ask, encoded
from grader.formats.account import STATUS_MARKS, WRONG
from grader.report import KataReport

LONGEST_ANSWER = 10_000  # characters of an answer


@dataclass(frozen=True)
class Asked:
    """A constant, the comment above it, and its value as it is written; empty if it is not answered."""

    name: str
    text: str
    value: str


def asked_in(source: str) -> list[Asked]:
    """Return the constants of a file in their order; none if it is no Python."""
    try:
        found, _ = ask("fields", list[tuple[str, str, str]], encoded(source))
    except SubmissionRejected:
        return []
    return [Asked(*one) for one in found]


def with_answer(source: str, name: str, value: str) -> str:
    """Return the file with another value of a constant; `...` for an empty one. What is a text there needs no
    quotes. Raises SubmissionRejected if the value is no expression, or holds a name that nothing has defined,
    which would make the whole page unreadable."""
    return ask("fill", dict[str, str], encoded(source), name=name, value=value)[1]


def numbers_of(statement: str, student: str) -> tuple[int, dict[str, str]]:
    """Return the row of numbers that a login chooses in the table of a statement, and the numbers by name."""
    table = [line.split() for line in statement.splitlines() if line.startswith("    ")]
    head = next((at for at, words in enumerate(table) if words[:1] == ["row"]), len(table))
    rows = [words for words in table[head + 1 :] if words and len(words) == len(table[head])]
    if not rows:
        return 0, {}
    row = sum(student.encode(errors="replace")) % len(rows)
    return row, dict(zip(table[head][1:], rows[row][1:], strict=True))


class QuestionsView:
    """The form. `text` returns what the file holds, `take` is called with the text that has a new answer, and
    `check` to judge the page. `typed` keeps what is no value yet, by constant."""

    def __init__(
        self,
        typed: dict[str, str],
        text: Callable[[], str],
        take: Callable[[str], None],
        check: Callable[[], None],
    ) -> None:
        self.typed, self.text, self.take, self.check = typed, text, take, check
        self.fields: dict[str, ui.input] = {}
        self.marks: dict[str, ui.label] = {}
        with html.div(role="form", **{"aria-label": "Questions"}).classes("questions"):
            self.row = ui.label("").classes("note")
            for one in asked_in(text()):
                self._ask(one)
            with html.div().classes("check"):
                html.button("Check this page", type="button").classes("first").on("click", self._check)
        self._show_row()

    def _ask(self, one: Asked) -> None:
        html.label(one.text or one.name, **{"for": f"answer-{one.name}"})
        with html.div():
            html.code(one.name)
            field = ui.input(value=self.typed.get(one.name, one.value), on_change=self._note)
            field.without_auto_validation().props("dense outlined bottom-slots no-error-icon")
            field.props["for"] = f"answer-{one.name}"
            field.on("keydown.enter", self._check)
            self.fields[one.name] = field
            self.marks[one.name] = ui.label("").classes("mark")
        if one.name in self.typed:
            self._refuse(one.name)

    def _show_row(self) -> None:
        student = next((one.value for one in asked_in(self.text()) if one.name == "STUDENT"), "")
        row, numbers = numbers_of(statement_of(self.text()) or "", student)
        named = ", ".join(f"{name} {number}" for name, number in numbers.items())
        self.row.text = f"Your row is {row}: {named}."
        self.row.set_visibility(bool(numbers))

    def _note(self, event: ValueChangeEventArguments[str | None]) -> None:
        """Write an answer into the file, or say at its field that it is no value."""
        name = next(name for name, field in self.fields.items() if field is event.sender)
        value = (event.value or "")[:LONGEST_ANSWER]
        self.marks[name].text = ""
        try:
            text = with_answer(self.text(), name, value)
        except SubmissionRejected:
            self.typed[name] = value
            self._refuse(name)
        else:
            self.typed.pop(name, None)
            self.fields[name].error = None
            if text != self.text():
                self.take(text)
                self._show_row()

    def _refuse(self, name: str) -> None:
        self.fields[name].error = "This is no value. Write a number, or (2, 3), or True."

    def _check(self) -> None:
        """Judge the page, or go to the first field that holds no value."""
        wrong = next((name for name in self.fields if name in self.typed), None)
        if wrong is None:
            self.check()
        else:
            ui.run_javascript(f"document.getElementById('answer-{wrong}').focus()")

    def fill(self) -> None:
        """Show the answers of the file."""
        for one in asked_in(self.text()):
            if one.name in self.fields and one.name not in self.typed:
                self.fields[one.name].value = one.value
        self._show_row()

    def mark(self, report: KataReport) -> None:
        """Mark each field by the check of its constant."""
        found = {check.name: check for check in report.checks}
        for name, mark in self.marks.items():
            check = found.get(name.lower())
            status = check.status if check else "skipped"
            sign = STATUS_MARKS.get(status, "✗") if status == "passed" or status in WRONG else ""
            mark.text = f"{sign} {'right' if sign == '✓' else 'wrong'}" if sign else ""
            mark.classes(**{"replace": f"mark {'good' if sign == '✓' else 'bad'}"})
