"""`grade review`: the dialogue in the terminal, and the calendar of what is due."""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterable
from contextlib import closing, suppress
from datetime import date

import click

from grader.cli.options import FAILED, PASSED, GradeOptions, columns
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import text_of
from grader.course.state import BEST, CourseState, Versions
from grader.course.submission import SubmissionRejected, decoded, parse
from grader.extra.review import schedule
from grader.extra.review.faults import Fault, Found, choose
from grader.extra.review.schedule import Due, Outcome, calendar, in_words
from grader.extra.review.versions import function_around, tell_apart
from grader.formats import account
from grader.formats.account import paragraphs, words
from grader.grading.grader import Grader
from grader.grading.session import lacks_library, open_grader, require_installed
from grader.report import KataReport
from grader.report_texts import harmless

TRIES = 3  # texts of the line that are judged
MARGIN = 4  # columns before a case
NOTHING = "No kata has passed yet: a review breaks an answer of your own that has."


class Unsuitable(Exception):
    """An answer cannot be reviewed; the message is a sentence that says why."""


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


def review(course: Course, options: GradeOptions, asks_which: bool = False) -> int:
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
                return _Dialogue(course, grader, due, today).run(asks_which)
            except Unsuitable as reason:
                _say(f"{due.info.name} is left out: {reason}")
    return FAILED if options.names else PASSED


def _named(course: Course, found: list[Due], names: tuple[str, ...]) -> Due:
    infos = [info for name in names for info in course.katas_meant(name)]
    if len(infos) != 1:
        raise CourseError("`grade review` goes with the name of one kata, or with none for what is due.")
    if due := next((one for one in found if one.info == infos[0]), None):
        return due
    if infos[0].questions:
        raise CourseError(f"{infos[0].name} asks questions: it has no code to review.")
    raise CourseError(f"{infos[0].name} has not passed yet: a review breaks an answer of yours that has.")


def _nothing_due(found: Iterable[Due], today: date) -> str:
    later = min((one for one in found if one.day), key=lambda one: one.day or date.max, default=None)
    if later is None or later.day is None:
        return "Nothing is due any more. `grade review NAME` reviews a kata all the same."
    when = in_words(later.day, today)
    return f"Nothing is due today. Next is {later.info.name}, {when}: grade review {later.info.name}"


def answer_of(course: Course, info: KataInfo) -> str:
    """Return the text of an answer that has passed: the student's file, or else the best copy of it. Raises
    Unsuitable."""
    state = CourseState(course)
    texts = [text_of(course.stub(info))] if state.kata(info.name).status == "passed" else []
    with suppress(SubmissionRejected):
        if kept := Versions(state.folder).kept(BEST, info):
            texts.append(decoded(kept, info.name))
    if not any(texts):
        raise Unsuitable("no answer of yours that has passed is left.")
    return next(filter(None, texts))


def _say(text: str) -> None:
    click.echo(paragraphs(text, columns()))


class _Dialogue:
    """One review: the student finds the line of a fault and mends it, or tells two versions apart."""

    def __init__(self, course: Course, grader: Grader, due: Due, today: date) -> None:
        self.course, self.grader, self.info, self.today = course, grader, due.info, today
        self.state = due.state
        self.seed = f"{self.info.name} {due.state.reviews} {due.state.reviewed} {today}"
        self.order = random.Random(self.seed)

    def run(self, asks_which: bool) -> int:
        """Ask until the fault is found or shown, remember how it went, and return the exit code. Raises
        Unsuitable."""
        source = self._answer()
        found = self._fault(source)
        outcome = self._tell_apart(source, found) if asks_which else self._find_and_mend(found)
        day = schedule.record(self.course, self.info.name, outcome, self.today)
        again = f"It comes again {in_words(day, self.today)}." if day else "That was its last review."
        _say(f"\n{outcome.capitalize()}. {again}")
        left = sum(one.is_due(self.today) for one in calendar(self.course, self.today))
        if left:
            many = "One more kata is" if left == 1 else f"{left} more katas are"
            _say(f"{many} due: grade review")
        return PASSED if outcome is not Outcome.MISSED else FAILED

    def _answer(self) -> str:
        source = answer_of(self.course, self.info)
        if (report := self._judge(source)).status != "passed":
            reason = account.told(report).words if report.checks else report.message
            raise Unsuitable(f"your answer does not pass any more. {reason}")
        return source

    def _find_and_mend(self, found: Found) -> Outcome:
        _say(f"{self.info.name}: one line of an answer of yours was changed.\n")
        click.echo("\n".join(listing(found.fault.source, columns())))
        outcome = self._find(found)
        self._mend(found.fault)
        return outcome

    def _tell_apart(self, source: str, found: Found) -> Outcome:
        """Ask which of two versions is broken, and for an input that tells them apart."""
        fault, width = found.fault, columns()
        is_first = bool(self.order.getrandbits(1))
        span = function_around(source, fault.line)
        _say(f"{self.info.name}: one of two versions of yours is broken.")
        for letter, is_broken in zip("AB", (is_first, not is_first), strict=True):
            text = fault.source if is_broken else source
            click.echo("\n".join(["", letter, *listing(text, width, span)]))
        broken = "A" if is_first else "B"
        chosen = self._ask("\nWhich is broken, A or B?").upper()
        if chosen != broken:
            _say(f"It is {broken}, in line {fault.line}.")
            click.echo("\n" + "\n".join(case_lines(found, width)))
            return Outcome.MISSED
        for _ in range(TRIES):
            text = self._ask(f"{broken} it is. Write a call that tells them apart. Enter shows one")
            if not text:
                break
            told = tell_apart(self.grader, self.info, source, fault, text)
            if told.differs:
                _say(f"✓ It does: {told.broken}, and {told.right} is due.")
                return Outcome.AT_ONCE
            _say(told.problem or f"✗ Both give {told.right}.")
        click.echo("\n" + "\n".join(case_lines(found, width)))
        return Outcome.CASE

    def _fault(self, source: str) -> Found:
        looks = sys.stderr.isatty()
        if looks:
            click.echo("looking for a line to change …", nl=False, err=True)
        found = choose(self.grader, self.info, source, self.seed, tuple(self.state.mistakes))
        if looks:
            click.echo("\r\x1b[K", nl=False, err=True, color=True)
        if found is None:
            raise Unsuitable("no small change of it fails on a small case.")
        return found

    def _judge(self, source: str) -> KataReport:
        try:
            submission = parse(self.info, source, f"{self.info.name}.py")
        except SubmissionRejected as refused:
            return self.info.unjudged("error", str(refused))
        return self.grader.grade(submission).report

    def _find(self, found: Found) -> Outcome:
        """Ask for the line, each time after more is shown."""
        fault = found.fault
        shows = (
            (Outcome.AT_ONCE, "", "a failing case"),
            (Outcome.CASE, "\n".join(case_lines(found, columns())), "a hint"),
            (Outcome.HINT, hint_of(fault), "the line"),
        )
        for outcome, text, more in shows:
            click.echo(f"\n{text}" if text else "")
            asked = f"Which line is it? Enter shows {more}"
            while (answer := self._ask(asked)) and answer != str(fault.line):
                asked = f"Not line {answer[:8]}. Which line is it? Enter shows {more}"
            if answer:
                _say(f"Line {fault.line} it is.")
                return outcome
        _say(f"It is line {fault.line}.")
        return Outcome.MISSED

    def _mend(self, fault: Fault) -> None:
        """Let the student write the line, and judge what it makes of the answer."""
        click.echo(f"\n  {fault.line} │ {harmless(fault.now.strip())}")
        for left in reversed(range(TRIES)):
            text = self._ask("Write it as it should be. Enter shows yours", fault.now.strip())
            if not text:
                break
            report = self._judge(fault.mended(text))
            if report.status == "passed":
                _say("✓ Mended: every check passes.")
                return
            told = account.told(report).words if account.wrong(report) else account.summary_of(report)
            _say(f"✗ {harmless(told)}" + ("" if left else " It was:"))
        click.echo(f"  {fault.line} │ {harmless(fault.was.strip())}")

    def _ask(self, question: str, text: str = "") -> str:
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


def listing(source: str, width: int, span: range | None = None) -> list[str]:
    """Return the lines of an answer with their numbers, without docstrings; those in `span`, or all."""
    lines, hidden = source.split("\n"), set[int]()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) and body:
            hidden |= set(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
    room = len(str(len(lines)))
    shown = [number for number in span or range(1, len(lines) + 1) if number not in hidden]
    while shown and not lines[shown[0] - 1].strip():
        shown = shown[1:]
    while shown and not lines[shown[-1] - 1].strip():
        shown = shown[:-1]
    found: list[str] = []
    for number in shown:
        lead = f"  {number:>{room}} │ "
        code = harmless(lines[number - 1])
        indent = " " * (len(code) - len(code.lstrip()) + 8)
        found += words(code, width, lead, " " * (room + 2) + " │ " + indent) or [lead.rstrip()]
    return found


def case_lines(found: Found, width: int) -> list[str]:
    """Return a failing call of an answer as code, and what came and what was due, without the name of the
    mistake."""
    check = found.check
    lines = ["It fails here:", "", *account.code_lines(check.call or "", width, " " * MARGIN)]
    if check.came:
        return [*lines, *account.code_lines(f"# {check.came}", width, " " * MARGIN)]
    return [*lines, "", *words(f"{check.title} {check.message}", width)]


def hint_of(fault: Fault) -> str:
    """Return where the fault is, and of which kind."""
    where = f"in `{fault.where.rpartition('.')[2]}`" if fault.where else "at the top of the file"
    return f"Look {where}: it is {fault.kind}."
