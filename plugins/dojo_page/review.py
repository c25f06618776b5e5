"""A review: find the line of an answer that was changed, and write it as it should be."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from dojo_page.asking import AskedJudges, last_of
from dojo_page.desk import Desk
from dojo_page.judge import Broken, Mended
from dojo_page.protocol import Answer, Dropped, Line, Problem, Reviewed, Reviewing
from dojo_review.review import Review, case_lines, hint_of, numbers_of
from dojo_review.schedule import ReviewOutcome
from grader.formats import pages
from grader.formats.account import PAGE_WIDTH
from grader.texts.escaping import harmless

TEMPLATES = Path(__file__).parent / "templates"
MORE = {
    ReviewOutcome.AT_ONCE: "Show a failing case",
    ReviewOutcome.CASE: "Hint",
    ReviewOutcome.HINT: "Show the line",
}
WHICH = "One line of an answer of yours was changed. Which one?"
LEFT = "The judge was needed elsewhere; open the review again."
NONE = "There is no review; open it again."
MENDED = "✓ Mended: every check passes."


class ReviewedAnswer:
    """The review of one connection: what a person says of it, and what is then shown."""

    def __init__(self, desk: Desk, judges: AskedJudges) -> None:
        self.desk, self.judges = desk, judges
        self.review: Review | None = None
        self._lines: tuple[Line, ...] = ()
        self._told = self._shown = self._wrong = ""
        self._is_found = False

    async def begin(self) -> Answer:
        """Break the first answer that is due and can be broken; say why others are left out."""
        self.review, self._shown, self._wrong, self._is_found = None, "", "", False
        left_out: list[str] = []
        for name in self.desk.due():
            info = self.desk.course.kata_info(name)
            match await last_of(self.judges.break_line(info.library, name)):
                case Broken(review):
                    self.review = review
                    self._lines = tuple(_lines_of(review))
                    self._told = " ".join([*left_out, WHICH])
                    return self._now()
                case Dropped(problem):
                    left_out.append(f"{name} is left out: {problem or LEFT}")
        return Reviewed(" ".join(left_out) or "Nothing is due today.", "", "")

    def _now(self) -> Answer:
        """Return the review as it stands."""
        review = self.review
        if review is None:
            return Problem(NONE)
        more = "" if self._is_found else MORE.get(review.outcome, "")
        found, now = (review.fault.line, review.fault.now.strip()) if self._is_found else (0, "")
        return Reviewing(review.kata, self._lines, self._told, more, self._shown, found, now, self._wrong)

    def guess(self, line: int) -> Answer:
        """Say whether it is this line."""
        if self.review is not None and not self._is_found:
            self._is_found = self.review.is_line(str(line))
            self._told = f"Line {line} it is." if self._is_found else f"Not line {line}. Which one?"
        return self._now()

    def show_more(self) -> Answer:
        """Show a failing case, then a hint, then the line."""
        review = self.review
        if review is not None and not self._is_found:
            review.show_more()
            match review.outcome:
                case ReviewOutcome.CASE:
                    self._shown += _drawn(code="\n".join(case_lines(review.check, PAGE_WIDTH)))
                case ReviewOutcome.HINT:
                    self._shown += _drawn(text=hint_of(review.fault))
                case _:
                    self._told, self._is_found = f"It is line {review.fault.line}.", True
        return self._now()

    async def mend(self, text: str) -> Answer:
        """Judge the line as it should be; an empty one gives up. The review ends with a right one, and after
        some wrong ones."""
        review = self.review
        if review is None or not self._is_found:
            return self._now()
        if not text.strip():
            return self._end(review)
        info = self.desk.course.kata_info(review.kata)
        answer = await last_of(self.judges.mend(info.library, info.name, review.fault.mended(text)))
        match answer:
            case Mended(told=""):
                return self._end(review, MENDED)
            case Mended(told):
                review.tries -= 1
                self._wrong = f"✗ {told}"
                return self._now() if review.tries else self._end(review)
            case Dropped(problem):
                self._wrong = problem or LEFT
        return self._now()

    def _end(self, review: Review, told: str = "") -> Answer:
        """Say how it went and when it comes again; show the line as it was if it is not mended."""
        self.review = None
        ended = review.finish(self.desk.course, date.today())
        was = harmless(f"{review.fault.line} │ {review.fault.was.strip()}")
        shown = self._shown + (
            _drawn(text=told) if told else _drawn(text=f"{self._wrong} It was:".strip(), code=was)
        )
        return Reviewed(ended, shown, next(iter(self.desk.due()), ""))


def _lines_of(review: Review) -> list[Line]:
    """Return the lines of an answer that are shown: no docstrings."""
    source = review.fault.source.split("\n")
    return [Line(number, harmless(source[number - 1])) for number in numbers_of(review.fault.source)]


def _drawn(text: str = "", code: str = "") -> str:
    return pages.fill(TEMPLATES / "reviewed.html", text=text, code=code)
