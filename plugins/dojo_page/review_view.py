"""A review: find the line of an answer that was changed, and write it as it should be."""

from __future__ import annotations

from contextlib import aclosing
from datetime import date
from functools import partial

from nicegui import html, ui

from dojo_page.messages import Broken, Dropped, Mended
from dojo_page.workplace import Shortcut, Workplace, focus_on, listen, prefix
from dojo_review.review import Review, case_lines, hint_of, numbers_of
from dojo_review.schedule import ReviewOutcome, calendar
from grader.course.catalog import KataInfo
from grader.formats.account import PAGE_WIDTH
from grader.texts.escaping import harmless

MORE = {
    ReviewOutcome.AT_ONCE: "Show a failing case",
    ReviewOutcome.CASE: "Hint",
    ReviewOutcome.HINT: "Show the line",
}
JUDGING = "Judging …"
LEFT = "The judge was needed elsewhere; open the review again."


def due_today(place: Workplace) -> list[KataInfo]:
    """Return the katas whose review is due, the first one first."""
    today = date.today()
    return [one.info for one in calendar(place.course, today) if one.is_due(today)]


class ReviewView:
    """The code on the left, and what one does with it on the right."""

    def __init__(self, place: Workplace) -> None:
        self.place, self.prefix = place, prefix()
        self.review: Review | None = None
        self.lines: dict[int, html.button] = {}
        with html.div(id="main").classes("review"):
            with html.h1():
                self.title = ui.label("Review")
            self.told = ui.label("").props("role=status")
            with html.div().classes("parts"):
                self.code = html.section(**{"aria-label": "Your answer, with one changed line"})
                self.side = html.section(**{"aria-label": "Find the line"})
        with self.side:
            self.shown = html.div(**{"aria-live": "polite"})
            with html.button(type="button").on("click", self.show_more) as self.more:
                self.next = ui.label("")
            self.more.set_visibility(False)
            self.form = html.div()
        listen(
            [
                Shortcut("m", "Show more: a failing case, a hint, the line.", self.show_more),
                Shortcut("p", "Go to the path.", lambda: ui.navigate.to("/")),
            ]
        )
        ui.timer(0.05, self.begin, once=True)

    async def begin(self) -> None:
        """Break the first answer that is due and can be broken; say why others are left out."""
        self.told.text = "Looking for a line to change …"
        left_out: list[str] = []
        for info in due_today(self.place):
            async with aclosing(self.place.judges.break_line(info.library, info.name)) as answers:
                async for answer in answers:
                    match answer:
                        case Broken():
                            self._show(info, answer.review, left_out)
                            return
                        case Dropped():
                            left_out.append(f"{info.name} is left out: {answer.problem or LEFT}")
        self.told.text = " ".join(left_out) or "Nothing is due today."
        self._lead_on()

    def _show(self, info: KataInfo, review: Review, left_out: list[str]) -> None:
        self.info, self.review = info, review
        self.title.text = f"Review: {info.name}"
        self.told.text = " ".join([*left_out, "One line of an answer of yours was changed. Which one?"])
        source = review.fault.source.split("\n")
        with self.code:
            for number in numbers_of(review.fault.source):
                text = harmless(source[number - 1])
                if not text.strip():
                    html.div().classes("blank")
                    continue
                with html.button(type="button").classes("line") as line:
                    html.span(str(number)).classes("quiet")
                    html.span(text)
                self.lines[number] = line.on("click", partial(self._guess, number))
        self._offer_more()

    def _offer_more(self) -> None:
        assert self.review is not None
        self.next.text = MORE.get(self.review.outcome, "")
        self.more.set_visibility(bool(self.next.text))

    def _guess(self, number: int) -> None:
        if self.review is None or not self.more.visible:
            return
        if self.review.is_line(str(number)):
            self.told.text = f"Line {number} it is."
            self._ask()
        else:
            self.told.text = f"Not line {number}. Which one?"

    def show_more(self) -> None:
        """Show a failing case, then a hint, then the line."""
        if self.review is None or not self.more.visible:
            return
        self.review.show_more()
        with self.shown:
            match self.review.outcome:
                case ReviewOutcome.CASE:
                    html.pre("\n".join(case_lines(self.review.check, PAGE_WIDTH)), tabindex=0)
                case ReviewOutcome.HINT:
                    html.p(hint_of(self.review.fault))
                case _:
                    self.told.text = f"It is line {self.review.fault.line}."
                    self._ask()
                    return
        self._offer_more()

    def _ask(self) -> None:
        """Ask for the line as it should be."""
        assert self.review is not None
        fault = self.review.fault
        self.more.set_visibility(False)
        self.lines[fault.line].classes("found")
        with self.form:
            self.field = ui.input(f"Line {fault.line} as it should be", value=fault.now.strip())
            self.field.props("outlined").on("keydown.enter", self._check)
            self.wrong = ui.label("").props("role=alert").classes("wrong")
            with html.div().classes("tools"):
                html.button("Check", type="button").classes("first").on("click", self._check)
                html.button("Show mine", type="button").on("click", self._end)
        ui.timer(0.1, lambda: focus_on(".review input"), once=True)

    async def _check(self) -> None:
        if self.review is None or self.wrong.text == JUDGING:
            return
        self.wrong.text = JUDGING
        source = self.review.fault.mended(self.field.value or "")
        async with aclosing(self.place.judges.mend(self.info.library, self.info.name, source)) as answers:
            async for answer in answers:
                if self.review is None:  # the line was shown meanwhile
                    return
                match answer:
                    case Mended(told=""):
                        self._end("✓ Mended: every check passes.")
                    case Mended():
                        self.review.tries -= 1
                        self.wrong.text = f"✗ {answer.told}"
                        if not self.review.tries:
                            self._end()
                    case Dropped():
                        self.wrong.text = answer.problem or LEFT

    def _end(self, told: object = None) -> None:
        """Say how it went and when it comes again; show the line as it was if it is not mended."""
        if self.review is None:
            return
        review, self.review = self.review, None
        self.told.text = review.finish(self.place.course, date.today())
        with self.shown:
            if isinstance(told, str):
                html.p(told)
            else:
                html.p(f"{self.wrong.text.removeprefix(JUDGING)} It was:".strip())
                html.pre(harmless(f"{review.fault.line} │ {review.fault.was.strip()}"), tabindex=0)
        self.form.clear()
        self._lead_on()

    def _lead_on(self) -> None:
        with self.side:
            with html.p():
                html.a("To the path", href=f"{self.prefix}/")
            if self.lines and (due := due_today(self.place)):
                following = html.button(f"Next: {due[0].name}", type="button").classes("first")
                following.on("click", ui.navigate.reload)
