"""Put one fault into an answer that passes: a changed line of the student's own text.

A fault is an edit of `grader.edits`, written into the text as it stands: comments and all other lines stay.
The checks must catch it, and the case that shows it must be small.
"""

from __future__ import annotations

import ast
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from grader.course.catalog import KataInfo
from grader.course.submission import SubmissionRejected, parse
from grader.edits.context import MODULES
from grader.edits.mutants import mutants
from grader.edits.walk import FAMILIES
from grader.edits.writing import EditWriter
from grader.errors import KataError
from grader.formats import account
from grader.grading.grader import Grader
from grader.report import CheckReport, KataReport
from grader.worker.client import Outdated

#: Not those whose edits students do not make: they keep a value for later calls, or limit a step to one mode.
LIKELY = {*FAMILIES} - {"buffers", "modes", "state"}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?")
#: Kinds of changes that nobody makes by mistake.
BLUNT = {"a call", "an expression", "an item", "an argument", "a condition"}
MOST_NUMBERS = 60  # in the lines of a case
MOST_LINES = 20  # of a case
SECONDS = 5.0  # of trying, once a fault fits
PATIENCE = 6  # times as long until one does
SLOW_SECONDS = 2.0  # of judging one fault, which is then left out


@dataclass(frozen=True)
class Fault:
    """One changed line of an answer.

    Attributes:
        source: The answer with the fault.
        line: The line, from 1.
        was: The line before.
        where: The function that has it; "" at the top of the file.
        kind: What is changed, such as `an axis`.
    """

    source: str
    line: int
    was: str
    where: str
    kind: str

    @property
    def now(self) -> str:
        return self.source.split("\n")[self.line - 1]

    def mended(self, text: str) -> str:
        """Return the answer with `text` in place of the line; a text without an indent gets the line's."""
        lines = self.source.split("\n")
        indent = self.was[: len(self.was) - len(self.was.lstrip())]
        lines[self.line - 1] = text if text[:1].isspace() else indent + text
        return "\n".join(lines)


@dataclass(frozen=True)
class FaultReport:
    """A fault with the report on it, which shows the case."""

    fault: Fault
    report: KataReport

    @property
    def check(self) -> CheckReport:
        return account.told(self.report).check

    @property
    def mistake(self) -> str:
        """The course's mistake that the fault is; "" if it has no name."""
        return self.report.mistake.id if self.report.mistake else ""


def faults_in(source: str) -> list[Fault]:
    """Return every fault that changes one line of a source, in the order of the file. Raises SyntaxError."""
    tree = ast.parse(source)
    writer = EditWriter(source, tree)
    found: dict[str, Fault] = {}
    for mutant in mutants(tree, families=LIKELY):
        text = "" if _is_of_module(mutant.edit.new) else writer.text_with(mutant.edit, mutant.source)
        if text and (changed := _changed_line(source, text)):
            line, was = changed
            found.setdefault(text, Fault(text, line, was, mutant.where, mutant.place.kind))
    return list(found.values())


def _is_of_module(new: object) -> bool:
    """Return whether an edit leaves a bare name of a module, such as `np.floating`, which nobody writes."""
    return isinstance(new, ast.Attribute) and isinstance(new.value, ast.Name) and new.value.id in MODULES


def _changed_line(source: str, text: str) -> tuple[int, str] | None:
    """Return the number of the only line that differs, and that line as it was; None if there are others."""
    before, after = source.split("\n"), text.split("\n")
    if len(before) != len(after):
        return None
    lines = [number for number, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]]
    return (lines[0], before[lines[0] - 1]) if len(lines) == 1 else None


def choose(  # noqa: PLR0913  # a caller sets one or two of those with a default
    grader: Grader,
    info: KataInfo,
    source: str,
    seed: str,
    made_before: tuple[str, ...] = (),
    seconds: float = SECONDS,
    is_outdated: Callable[[], bool] = lambda: False,
) -> FaultReport | None:
    """Return a fault that the checks catch on a small case; None if none is found.

    Args:
        grader: Judges the answer with each fault.
        info: The kata.
        source: The answer, which passes.
        seed: What the order of the faults hangs on.
        made_before: Mistakes that this student has made; a fault that is one of them comes first.
        seconds: How long to look for a better one; six times as long for the first.
        is_outdated: Returns True once the fault is not needed any more.

    Raises:
        Outdated: `is_outdated` has returned True.
    """
    began = time.monotonic()
    best: tuple[tuple[bool, ...], FaultReport] | None = None  # by what makes a fault tell
    for fault in in_order(faults_in(source), seed):
        if is_outdated():
            raise Outdated
        if best and all(best[0]):
            break
        if time.monotonic() - began > (seconds if best else PATIENCE * seconds):
            break
        for found in suitable(grader, info, [fault]):
            is_own = not made_before or found.mistake in made_before
            rank = (is_own, fault.kind not in BLUNT, bool(found.mistake), bool(found.check.came))
            best = (rank, found) if best is None or rank > best[0] else best
    return best[1] if best else None


def in_order(faults: list[Fault], seed: str) -> list[Fault]:
    """Return the faults in an order that hangs on the seed, each line's first ones before its others."""
    order = random.Random(seed)
    order.shuffle(faults)
    turns: dict[int, int] = {}
    ranked = []
    for fault in faults:
        turn = turns[fault.line] = turns.get(fault.line, 0) + 1
        ranked.append((turn, fault))
    return [fault for _, fault in sorted(ranked, key=lambda pair: pair[0])]


def suitable(grader: Grader, info: KataInfo, faults: Iterable[Fault]) -> Iterator[FaultReport]:
    """Yield the faults that fit a review: the answer loads, a check catches it, and the case is small."""
    for fault in faults:
        ends = time.monotonic() + SLOW_SECONDS
        with suppress(SubmissionRejected, KataError, Outdated):
            submission = parse(info, fault.source, f"{info.name}.py")
            report = grader.grade(submission, partial(_is_past, ends)).report
            found = FaultReport(fault, report)
            if account.wrong(report) and not report.parts and is_small(found.check):
                yield found


def _is_past(time_: float) -> bool:
    return time.monotonic() > time_


def is_small(check: CheckReport) -> bool:
    """Return whether a failing case can be taken in at a glance: a call with few numbers that raised nothing,
    since an exception names its line."""
    if check.status != "failed" or check.place or "raised" in check.message:
        return False
    if not check.call or not account.is_whole(check):
        return False
    return len(check.call.splitlines()) <= MOST_LINES and len(NUMBER.findall(check.call)) <= MOST_NUMBERS
