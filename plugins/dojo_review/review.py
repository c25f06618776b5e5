"""One review, in the terminal or on the page: which line was changed, what was shown, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from dojo_review import schedule
from dojo_review.faults import Fault, choose
from dojo_review.schedule import ReviewOutcome, in_words
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import text_of
from grader.course.state import CourseState, KataState
from grader.course.stubs import BEST_COPIES, Versions
from grader.course.submission import SubmissionRejected, ask, decoded, encoded, parse
from grader.formats import account
from grader.grading.grader import Grader
from grader.grading.standings import standing
from grader.report import CheckReport, KataReport
from grader.texts.escaping import harmless
from grader.texts.wrapping import code_lines, words

TRIES = 3  # texts of the line that are judged
MARGIN = 4  # columns before a case
NEXT = {
    ReviewOutcome.AT_ONCE: ReviewOutcome.CASE,
    ReviewOutcome.CASE: ReviewOutcome.HINT,
    ReviewOutcome.HINT: ReviewOutcome.MISSED,
}


class Unsuitable(CourseError):
    """An answer cannot be reviewed; the message is a sentence that says why."""


@dataclass
class Review:
    """An answer with one changed line. `outcome` is how the review ends if the line is found now."""

    kata: str
    fault: Fault
    check: CheckReport  # with the case that shows the fault
    outcome: ReviewOutcome = ReviewOutcome.AT_ONCE
    tries: int = TRIES  # that are left

    def show_more(self) -> None:
        """Go on to the case, the hint and the line."""
        self.outcome = NEXT.get(self.outcome, ReviewOutcome.MISSED)

    def is_line(self, number: str) -> bool:
        """Return whether this is the number of the changed line."""
        return number.strip() == str(self.fault.line)

    def finish(self, course: Course, today: date) -> str:
        """Remember how the review ended, and return that and the day of the next one as text."""
        day = schedule.record(course, self.kata, self.outcome, today)
        again = f"It comes again {in_words(day, today)}." if day else "That was its last review."
        return f"{self.outcome.capitalize()}. {again}"


def seed_of(info: KataInfo, state: KataState, today: date) -> str:
    """Return what the choice of a line hangs on: on one day it is the same."""
    return f"{info.name} {state.reviews} {state.reviewed} {today}"


def begin(
    course: Course,
    grader: Grader,
    info: KataInfo,
    today: date,
    is_outdated: Callable[[], bool] = lambda: False,
) -> tuple[str, Review]:
    """Return an answer that passes, and a review of it. Raises Unsuitable, and Outdated once `is_outdated`
    returns True."""
    source, state = answer_of(course, info), CourseState(course).kata(info.name)
    require_passes(grader, info, source)
    seed = seed_of(info, state, today)
    found = choose(grader, info, source, seed, tuple(state.mistakes), is_outdated=is_outdated)
    if found is None:
        raise Unsuitable("no small change of it fails on a small case.")
    return source, Review(info.name, found.fault, found.check)


def require_passes(grader: Grader, info: KataInfo, source: str) -> None:
    """Raise Unsuitable if an answer does not pass any more, as after an upgrade."""
    if (report := judge(grader, info, source)).status != "passed":
        reason = account.told(report).words if report.checks else report.message
        raise Unsuitable(f"your answer does not pass any more. {reason}")


def judge(grader: Grader, info: KataInfo, source: str) -> KataReport:
    """Return the report on a text."""
    try:
        submission = parse(info, source, f"{info.name}.py")
    except SubmissionRejected as refused:
        return info.unjudged("error", str(refused))
    return grader.grade(submission).report


def wrong_with(grader: Grader, info: KataInfo, source: str) -> str:
    """Return what is wrong with a text; "" if every check passes."""
    report = judge(grader, info, source)
    if report.status == "passed":
        return ""
    return harmless(account.told(report).words if account.wrong(report) else account.summary_of(report))


def answer_of(course: Course, info: KataInfo) -> str:
    """Return the text of an answer that has passed: the student's file as it was graded, or else the best
    copy of it. Raises Unsuitable."""
    state = CourseState(course)
    found, texts = standing(course, info, state.kata(info.name)), list[str]()
    with suppress(SubmissionRejected):
        if kept := Versions(state.folder).kept(BEST_COPIES, info):
            texts.append(decoded(kept, info.name))
    if found.state.status == "passed":  # a file that was changed since may still pass
        texts.insert(0 if found.mark == "passed" else len(texts), text_of(course.stub(info)))
    if not any(texts):
        raise Unsuitable("no answer of yours that has passed is left.")
    return next(filter(None, texts))


def numbers_of(source: str, span: range | None = None) -> list[int]:
    """Return the numbers of the lines of an answer that are shown: no docstrings; those in `span`, or all."""
    lines, hidden = source.split("\n"), set[int]()
    with suppress(SubmissionRejected):
        for first, last in ask("docstring_lines", list[tuple[int, int]], encoded(source))[0]:
            hidden |= set(range(first, last + 1))
    shown = [number for number in span or range(1, len(lines) + 1) if number not in hidden]
    while shown and not lines[shown[0] - 1].strip():
        shown = shown[1:]
    while shown and not lines[shown[-1] - 1].strip():
        shown = shown[:-1]
    return shown


def listing(source: str, width: int, span: range | None = None) -> list[str]:
    """Return the lines of an answer with their numbers, without docstrings; those in `span`, or all."""
    lines = source.split("\n")
    room, found = len(str(len(lines))), list[str]()
    for number in numbers_of(source, span):
        lead = f"  {number:>{room}} │ "
        code = harmless(lines[number - 1])
        indent = " " * (len(code) - len(code.lstrip()) + 8)
        found += words(code, width, lead, " " * (room + 2) + " │ " + indent) or [lead.rstrip()]
    return found


def case_lines(check: CheckReport, width: int) -> list[str]:
    """Return a failing call of an answer as code, and what came and what is expected, without the name of the
    mistake."""
    lines = ["It fails here:", "", *code_lines(check.call or "", width, " " * MARGIN)]
    if check.came:
        return [*lines, *code_lines(f"# {check.came}", width, " " * MARGIN)]
    return [*lines, "", *words(account.fails(check), width)]


def hint_of(fault: Fault) -> str:
    """Return where the fault is, and of which kind."""
    where = f"in `{fault.where.rpartition('.')[2]}`" if fault.where else "at the top of the file"
    return f"Look {where}: it is {fault.kind}."
