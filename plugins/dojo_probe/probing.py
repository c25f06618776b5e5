"""One probe: a right function, a wrong one, and the inputs that tell them apart.

The right one is an answer of the student's that has passed, and the wrong one is that answer with one
changed line: one that the course knows as a mistake, if there is such a line. So a probe needs no solutions,
and gives nothing of them away.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property

from dojo_probe.answers import FunctionAnswer, answer_of, difference
from dojo_probe.inputs import read_input
from dojo_probe.smallest import FEW, smallest
from dojo_review.faults import BLUNT, Fault, FaultReport, faults_in, in_order, suitable
from dojo_review.review import Unsuitable, require_passes
from dojo_review.review import answer_of as passed_answer_of
from grader.cases.domain import Domain, known_cases, numbers_in
from grader.course.catalog import Course, KataInfo
from grader.course.submission import parse
from grader.grading.grader import Grader
from grader.grading.parameters import signatures_of
from grader.grading.session import started
from grader.grading.values_as_code import code_of
from grader.kata import Arguments, Kata
from grader.worker.client import CALL_SECONDS, Budget, WorkerLost
from grader.worker.student import Student

SECONDS = 10.0  # of looking for a fault that is a known mistake
PATIENCE = 6  # times as long until any fault fits
SEARCH_SECONDS = 20.0  # of CPU time of all calls of one search for a small input


@dataclass(frozen=True)
class ProbeResult:
    """What an input shows: the answers of both functions, how they differ ("" if they do not), how many
    numbers it has; or why it does not count, as a sentence."""

    right: FunctionAnswer = field(default_factory=FunctionAnswer)
    wrong: FunctionAnswer = field(default_factory=FunctionAnswer)
    differs: str = ""
    numbers: int = 0
    problem: str = ""


class Probe:
    """A passed answer of a kata, which stands for the right function, and the inputs that it may get. Raises
    Unsuitable if the kata cannot be probed."""

    def __init__(self, course: Course, grader: Grader, info: KataInfo) -> None:
        self.course, self.grader, self.info = course, grader, info
        self.submission = parse(info, passed_answer_of(course, info), f"{info.name}.py")
        if not self.submission.record.plain:
            raise Unsuitable("your answer is too large to be changed.")
        prepared = grader.prepare(info, self.submission.library)
        self.kata: Kata = prepared.kata
        self.bank = [case.arguments for case in prepared.oracle.answered.cases]
        self._answers_nan = any(
            FunctionAnswer(expected.native).has_nan for expected in prepared.oracle.answered.expected
        )
        self.name = self.kata.entry_points[0]
        self.parameters = signatures_of(self.submission.source).get(self.name, [])
        if not self.bank or set(self.parameters) != set(self.bank[0]):
            raise Unsuitable("its cases are no calls of one function.")

    @cached_property
    def domain(self) -> Domain:
        """The arguments that are allowed."""
        return Domain(self.kata, known_cases(self.kata, self.bank))

    def draw(self, made_before: tuple[str, ...], seed: str) -> DrawnFault:
        """Return a fault for which a small input is known: a known mistake that the student has not made, if
        one is found in time. Raises Unsuitable."""
        require_passes(self.grader, self.info, self.submission.source)
        began = time.monotonic()
        best: DrawnFault | None = None
        faults = in_order(faults_in(self.submission.source), seed)
        for fault in sorted(faults, key=lambda one: one.kind in BLUNT):
            if time.monotonic() - began > (SECONDS if best else PATIENCE * SECONDS):
                break
            for found in suitable(self.grader, self.info, [fault]):
                if found.mistake in made_before and found.mistake:
                    continue
                if best is not None and not found.mistake:
                    continue
                if drawn := self._with_smallest(found):
                    best = drawn
            if best and best.sentence and numbers_in(best.smallest) <= FEW:
                break
        if best is None:
            raise Unsuitable("no small change of your answer shows on a small input.")
        return best

    def _with_smallest(self, found: FaultReport) -> DrawnFault | None:
        with self._running(self.submission.source) as right, self._running(found.fault.source) as wrong:

            def differs(arguments: Arguments) -> bool:
                due = answer_of(self.kata, right, arguments)
                got = answer_of(self.kata, wrong, arguments)
                return not self._refusal(due) and bool(difference(self.kata, arguments, due, got))

            with suppress(WorkerLost):  # a later answer would be none of the function's
                if least := smallest(self.domain, self.bank, differs):
                    mistake = found.report.mistake
                    return DrawnFault(found.fault, mistake.text if mistake else "", least)
        return None

    def judge(self, text: str, fault: Fault) -> ProbeResult:
        """Return what the input of a call shows."""
        written = read_input(self.grader, self.submission, self.name, text)
        if problem := written.problem or self.domain.complaint(written.arguments):
            return ProbeResult(problem=problem)
        return self.compare(written.arguments, fault)

    def compare(self, arguments: Arguments, fault: Fault) -> ProbeResult:
        """Return what an input shows that the domain allows."""
        due = self._answer(self.submission.source, arguments)
        if problem := self._refusal(due):
            return ProbeResult(due, problem=problem)
        got = self._answer(fault.source, arguments)
        return ProbeResult(due, got, difference(self.kata, arguments, due, got), numbers_in(arguments))

    def _answer(self, source: str, arguments: Arguments) -> FunctionAnswer:
        """Return what a version of the answer gives, in a worker of its own."""
        try:
            with self._running(source) as student:
                return answer_of(self.kata, student, arguments)
        except WorkerLost as lost:
            return FunctionAnswer(error=str(lost))

    def _refusal(self, due: FunctionAnswer) -> str:
        """Return why an input does not count for what the right function makes of it; "" if it does."""
        if due.error:
            return f"The statement does not allow it: {due.error}"
        if due.has_nan and not self._answers_nan:
            return "The statement does not allow it: the right result has a nan."
        return ""

    @contextmanager
    def _running(self, source: str) -> Iterator[Student]:
        """Yield a worker that has loaded a version of the answer."""
        loading = {"source": source, "entry_points": list(self.kata.entry_points), "forbidden": []}
        with started(self.grader, self.submission, Budget(SEARCH_SECONDS)) as student:
            student.load(self.info.name, CALL_SECONDS, f"{self.info.name}.py", **loading)
            yield student


@dataclass(frozen=True)
class DrawnFault:
    """A fault of a probe, with what it gets wrong as a sentence ("" if the course has none for it), and the
    smallest input that is known to show it."""

    fault: Fault
    sentence: str
    smallest: Arguments


def as_call(probe: Probe, arguments: Arguments) -> str:
    """Return a call of the function of a probe as code."""
    exchange = probe.submission.exchange
    given = (f"{name}={code_of(arguments[name], exchange, is_whole=True)}" for name in probe.parameters)
    return f"{probe.name}({', '.join(given)})"
