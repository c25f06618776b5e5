"""`grade review`: the dialogue in the terminal, and the calendar of what is due."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from contextlib import closing
from datetime import date

import click

from dojo_review.review import (
    TRIES,
    Review,
    Unsuitable,
    begin,
    case_lines,
    hint_of,
    listing,
    seed_of,
    wrong_with,
)
from dojo_review.schedule import Due, ReviewOutcome, calendar, in_words
from dojo_review.versions import function_around, tell_apart
from grader.cli.options import FAILED, PASSED, GradeOptions, columns
from grader.course.catalog import Course, CourseError
from grader.grading.grader import Grader
from grader.grading.session import lacks_library, open_grader, require_installed
from grader.texts.escaping import harmless
from grader.texts.wrapping import paragraphs, words

NOTHING = "No kata has passed yet: a review breaks an answer of your own that has."


def show_calendar(course: Course) -> int:
    """Print what is due today and later, and return the exit code."""
    today = date.today()
    found = calendar(course, today)
    if not found:
        raise CourseError(NOTHING)
    days: dict[str, list[str]] = {}
    for due in sorted(found, key=lambda one: one.day or date.max):
        when = in_words(due.day, today) if due.day else "no more"
        days.setdefault(when, []).append(due.info.name)
    room = max(map(len, days)) + 2
    for when, names in days.items():
        click.echo("\n".join(words(", ".join(names), columns(), f"{when:{room}}", " " * room)))
    return PASSED


def review(course: Course, options: GradeOptions, *, asks_which: bool = False) -> int:
    """Review a kata that was named, or the first one that is due; return the exit code. `asks_which` shows
    two versions in place of one with a fault."""
    today = date.today()
    found = calendar(course, today)
    if not found:
        raise CourseError(NOTHING)
    if options.names:
        chosen = [_named(course, found, options.names)]
    elif not (chosen := [one for one in found if one.is_due(today)]):
        _say(_nothing_due(found, today))
        return PASSED
    chosen = [one for one in chosen if not lacks_library(one.info)] or chosen[:1]
    require_installed(chosen[0].info)
    grader, factories = open_grader(course, [one.info for one in chosen], options.grader_settings)
    with closing(factories):
        for due in chosen:
            try:
                return _Dialogue(course, grader, due, today).run(asks_which=asks_which)
            except Unsuitable as reason:
                _say(f"{due.info.name} is left out: {reason}")
    return FAILED if options.names else PASSED


def _named(course: Course, found: list[Due], names: tuple[str, ...]) -> Due:
    infos = [info for name in names for info in course.katas_meant(name)]
    if len(infos) != 1:
        raise CourseError("`grade review` goes with the name of one kata, or with none for what is due.")
    if due := next((one for one in found if one.info == infos[0]), None):
        return due
    if not infos[0].kind.is_code:
        raise CourseError(f"{infos[0].name} asks questions: it has no code to review.")
    raise CourseError(f"{infos[0].name} has not passed yet: a review breaks an answer of yours that has.")


def _nothing_due(found: Iterable[Due], today: date) -> str:
    later = min((one for one in found if one.day), key=lambda one: one.day or date.max, default=None)
    if later is None or later.day is None:
        return "Nothing is due any more. `grade review NAME` reviews a kata all the same."
    when = in_words(later.day, today)
    return f"Nothing is due today. Next is {later.info.name}, {when}: grade review {later.info.name}"


def _say(text: str) -> None:
    click.echo(paragraphs(text, columns()))


class _Dialogue:
    """One review: the student finds the line of a fault and mends it, or tells two versions apart."""

    def __init__(self, course: Course, grader: Grader, due: Due, today: date) -> None:
        self.course, self.grader, self.info, self.today = course, grader, due.info, today
        self.order = random.Random(seed_of(due.info, due.state, today))

    def run(self, *, asks_which: bool) -> int:
        """Ask until the fault is found or shown, remember how it went, and return the exit code. Raises
        Unsuitable."""
        source, review = self._begin()
        if asks_which:
            self._tell_apart(source, review)
        else:
            self._find_and_mend(review)
        _say(f"\n{review.finish(self.course, self.today)}")
        left = sum(one.is_due(self.today) for one in calendar(self.course, self.today))
        if left:
            many = "One more kata is" if left == 1 else f"{left} more katas are"
            _say(f"{many} due: grade review")
        return PASSED if review.outcome is not ReviewOutcome.MISSED else FAILED

    def _begin(self) -> tuple[str, Review]:
        looks = sys.stderr.isatty()
        if looks:
            click.echo("looking for a line to change …", nl=False, err=True)
        try:
            return begin(self.course, self.grader, self.info, self.today)
        finally:
            if looks:
                click.echo("\r\x1b[K", nl=False, err=True, color=True)

    def _find_and_mend(self, review: Review) -> None:
        _say(f"{self.info.name}: one line of an answer of yours was changed.\n")
        click.echo("\n".join(listing(review.fault.source, columns())))
        self._find(review)
        self._mend(review)

    def _tell_apart(self, source: str, review: Review) -> None:
        """Ask which of two versions is broken, and for an input that tells them apart."""
        fault, width = review.fault, columns()
        is_first = bool(self.order.getrandbits(1))
        span = function_around(source, fault.line)
        _say(f"{self.info.name}: one of two versions of yours is broken.")
        for letter, is_broken in zip("AB", (is_first, not is_first), strict=True):
            text = fault.source if is_broken else source
            click.echo("\n".join(["", letter, *listing(text, width, span)]))
        broken = "A" if is_first else "B"
        chosen = ask("\nWhich is broken, A or B?").upper()
        if chosen != broken:
            _say(f"It is {broken}, in line {fault.line}.")
            click.echo("\n" + "\n".join(case_lines(review.check, width)))
            review.outcome = ReviewOutcome.MISSED
            return
        for _ in range(TRIES):
            text = ask(f"{broken} it is. Write a call that tells them apart. Enter shows one")
            if not text:
                break
            told = tell_apart(self.grader, self.info, source, fault, text)
            if told.differs:
                _say(f"✓ It does: {told.broken}, expected {told.right}.")
                return
            _say(told.problem or f"✗ Both give {told.right}.")
        click.echo("\n" + "\n".join(case_lines(review.check, width)))
        review.outcome = ReviewOutcome.CASE

    def _find(self, review: Review) -> None:
        """Ask for the line, each time after more is shown."""
        shows = {
            ReviewOutcome.AT_ONCE: ("", "a failing case"),
            ReviewOutcome.CASE: ("\n".join(case_lines(review.check, columns())), "a hint"),
            ReviewOutcome.HINT: (hint_of(review.fault), "the line"),
        }
        while review.outcome in shows:
            text, more = shows[review.outcome]
            click.echo(f"\n{text}" if text else "")
            asked = f"Which line is it? Enter shows {more}"
            while (answer := ask(asked)) and not review.is_line(answer):
                asked = f"Not line {answer[:8]}. Which line is it? Enter shows {more}"
            if answer:
                _say(f"Line {review.fault.line} it is.")
                return
            review.show_more()
        _say(f"It is line {review.fault.line}.")

    def _mend(self, review: Review) -> None:
        """Let the student write the line, and judge what it makes of the answer."""
        fault = review.fault
        click.echo(f"\n  {fault.line} │ {harmless(fault.now.strip())}")
        while review.tries:
            text = ask("Write it as it should be. Enter shows yours", fault.now.strip())
            if not text:
                break
            review.tries -= 1
            if not (told := wrong_with(self.grader, self.info, fault.mended(text))):
                _say("✓ Mended: every check passes.")
                return
            _say(f"✗ {told}" + ("" if review.tries else " It was:"))
        click.echo(f"  {fault.line} │ {harmless(fault.was.strip())}")


def ask(question: str, text: str = "") -> str:
    """Return what is answered; `text` stands ready to be changed where the terminal can do that."""
    if not sys.stdin.isatty():
        return str(click.prompt(question, default="", show_default=False)).strip()
    try:
        import readline  # not on Windows
    except ImportError:
        return str(click.prompt(question, default="", show_default=False)).strip()
    if text:
        readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return str(click.prompt(question, default="", show_default=False)).strip()
    finally:
        readline.set_startup_hook(None)
