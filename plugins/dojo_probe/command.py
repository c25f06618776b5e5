"""`grade probe`: the dialogue in the terminal, and the list of katas that can be probed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import date

import click

from dojo_probe.probing import DrawnFault, Probe, ProbeResult, as_call
from dojo_probe.smallest import FEW
from dojo_review.command import ask
from dojo_review.review import Unsuitable, listing
from dojo_review.schedule import calendar
from dojo_review.versions import function_around
from grader.cases.domain import numbers_in
from grader.cli.options import FAILED, PASSED, GradeOptions, columns
from grader.cli.progress import Progress
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.state import CourseState
from grader.course.submission import SubmissionRejected
from grader.grading.grader import Grader
from grader.grading.session import lacks_library, open_grader, require_installed
from grader.texts.escaping import harmless
from grader.texts.phrases import counted
from grader.texts.wrapping import code_lines, paragraphs, words

NOTHING = "No kata has passed yet: a probe takes an answer of yours that has."
NONE_FITS = "No kata that has passed can be probed: their cases are no calls of one function."
MARGIN = " " * 4  # before code and values


def list_katas(course: Course, options: GradeOptions) -> int:
    """Print the katas that can be probed, and return the exit code."""
    passed = [due.info for due in calendar(course, date.today()) if not lacks_library(due.info)]
    if not passed:
        raise CourseError(NOTHING)
    grader, factories = open_grader(course, passed, options.grader_settings)
    with closing(factories), Progress("probe", lambda: "", columns(), stops=False):
        found = {info.name for info in passed if _fits(course, grader, info)}
    names = [name for name in course.katas if name in found]
    if not names:
        raise CourseError(NONE_FITS)
    click.echo("\n".join(words(", ".join(names), columns(), "You can probe ", MARGIN)))
    _say(f"Begin with one: grade probe {names[0]}")
    return PASSED


def _fits(course: Course, grader: Grader, info: KataInfo) -> bool:
    with suppress(Unsuitable, SubmissionRejected):
        Probe(course, grader, info)
        return True
    return False


def probe(course: Course, options: GradeOptions, *, shows_wrong: bool = False) -> int:
    """Let a student look for an input that tells two functions apart, and return the exit code."""
    infos = [info for name in options.names for info in course.katas_meant(name)]
    if len(infos) != 1:
        raise CourseError("`grade probe` goes with the name of one kata, or with none for those that fit.")
    info = infos[0]
    require_installed(info)
    state = CourseState(course).kata(info.name)
    if not info.kind.is_code:
        raise CourseError(f"{info.name} asks for values: it has no function to probe.")
    if not state.has_passed:
        raise CourseError(f"{info.name} has not passed yet: a probe takes an answer of yours that has.")
    grader, factories = open_grader(course, [info], options.grader_settings)
    with closing(factories):
        try:
            doing = "looking for a line to change"
            with Progress(f"probe {info.name}", lambda: doing, columns(), stops=False):
                begun = Probe(course, grader, info)
                drawn = begun.draw(tuple(state.mistakes), secrets.token_hex(8))
        except Unsuitable as reason:
            raise CourseError(f"{info.name} cannot be probed: {reason}") from None
        return _Dialogue(begun, drawn).run(shows_wrong=shows_wrong)


class _Dialogue:
    """One probe: the student writes calls until one tells the two functions apart."""

    def __init__(self, begun: Probe, drawn: DrawnFault) -> None:
        self.probe, self.drawn = begun, drawn
        self.fewest = numbers_in(drawn.smallest)

    def run(self, *, shows_wrong: bool) -> int:
        """Ask until an input is found that is small enough, or for no more; return the exit code."""
        name = self.probe.name
        _say(
            f"{self.probe.info.name}: two functions, one right and one wrong. The right one is an answer of"
            " yours that has passed; in the wrong one a line of it was changed."
        )
        if shows_wrong:
            fault = self.drawn.fault
            span = function_around(self.probe.submission.source, fault.line)
            click.echo("\n".join(["", "The wrong one:", "", *listing(fault.source, columns(), span)]))
        _say(f"\nWrite a call on which they differ, with as few numbers as you can: {name}(…)")
        asked, best = f"\n{name} on which input? Enter shows one", 0
        while text := ask(asked):
            result = self.probe.judge(text, self.drawn.fault)
            click.echo("\n".join(_told(result, columns())))
            if not result.differs:
                continue
            if not best:
                click.echo("\n".join(self._mistake()))
            best = min(best or result.numbers, result.numbers)
            if best <= self.fewest:
                _say("\nNo smaller input is known.")
                return PASSED
            _say(f"\n{self._size(best)}")
            asked = f"\nA smaller one, of {self.fewest}? Enter ends"
        if not best:
            click.echo("\n".join(self._shown()))
        return PASSED if best else FAILED

    def _size(self, numbers: int) -> str:
        """Return how small an input is, beside the smallest that is known."""
        least = f"{self.fewest} would do"
        return f"That is small: {least}." if numbers <= FEW else f"That is large: {least}."

    def _mistake(self) -> Iterator[str]:
        """Yield what the wrong function gets wrong, and the line that was changed."""
        fault = self.drawn.fault
        if self.drawn.sentence:
            yield ""
            yield from words(harmless(self.drawn.sentence), columns())
        yield ""
        for label, line in (("wrong", fault.now), ("right", fault.was)):
            lead = f"{MARGIN}{label}  {fault.line} │ "
            yield from words(harmless(line.strip()), columns(), lead, " " * len(lead))

    def _shown(self) -> Iterator[str]:
        """Yield the smallest input that is known, with what both functions give for it, and the mistake."""
        yield ""
        yield from words(f"They differ here, with {counted(self.fewest, 'number')}:", columns())
        yield ""
        yield from code_lines(as_call(self.probe, self.drawn.smallest), columns(), MARGIN)
        yield from _values(self.probe.compare(self.drawn.smallest, self.drawn.fault), columns())
        yield from self._mistake()


def _told(result: ProbeResult, width: int) -> Iterator[str]:
    """Yield what an input shows."""
    size = counted(result.numbers, "number")
    if result.problem:
        yield from words(harmless(result.problem), width, "✗ ", "  ")
    elif not result.differs:
        yield f"✗ Both give the same, for {size}:"
        yield from words(str(result.right), width, MARGIN)
    else:
        yield from words(f"✓ They differ in {result.differs}, for {size}:", width)
        yield from _values(result, width)


def _values(result: ProbeResult, width: int) -> Iterator[str]:
    for label, answer in (("right", result.right), ("wrong", result.wrong)):
        lead = f"{MARGIN}{label}  "
        yield from words(answer.said(result.differs), width, lead, " " * len(lead))


def _say(text: str) -> None:
    click.echo(paragraphs(text, columns()))
