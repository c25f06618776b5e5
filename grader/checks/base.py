"""Checks, and the context in which they call a submission."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from grader.answer_keys.answers import Case, Expected
from grader.cases.oracle import Oracle
from grader.checks.parts import NotWritten, Parts, PartsStudent, Reached
from grader.checks.parts import Skip as Skip
from grader.course.catalog import KataInfo
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Kata
from grader.values.arrays import dtype_name, float_dtype, leaves
from grader.values.comparison import first_difference, plain_dtype
from grader.worker.student import Call, Student

#: PyTorch has next to no operations for most of these, and uint8 is a mask where it is an index.
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SMALL = ("int8", "int16")  # which PyTorch refuses as an index


@dataclass
class Observation:
    """What a submission answered to one case of the kata: its values, or the exception that it raised.

    `changed` are the arguments that were changed in place, each with its call; `trace` lists the calls made,
    and `history` all requests. `reached` are the parts called, if some are not written.
    """

    observed: Any
    failure: SubmissionFailed | ExpectationFailed | NotWritten | None
    changed: list[tuple[Call, str]]
    trace: list[Call]
    history: list[Call]
    reached: Reached = field(default_factory=Reached)


class CheckContext:
    """A submission, a kata and its oracle. All checks share the answers to the kata's cases. `parts` are
    those of a submission of which some are not written."""

    def __init__(self, kata: Kata, oracle: Oracle, student: Student, parts: Parts | None = None) -> None:
        self.kata, self.oracle, self.student, self.parts = kata, oracle, student, parts
        self.row: int | None = None  # the row of numbers that a kata of questions is judged on; None for all
        self._observations: dict[int, Observation] = {}  # by the case's index

    @property
    def is_translated(self) -> bool:
        """True if the kata's arrays arrive as tensors: the answer is in PyTorch, and the kata in NumPy."""
        return self.kata.library != self.oracle.kata.library

    def leaves_out(self, case: Case) -> bool:
        """Return whether a case is left out for an answer in PyTorch, where integers are int32 or int64: it
        holds unsigned ones, or small ones in an argument that may be of any integer dtype."""
        if not self.is_translated:
            return False
        if any(dtype_name(leaf) in UNSIGNED for leaf in leaves(case.arguments)):
            return True
        small = [name for name, value in case.arguments.items() if dtype_name(value) in SMALL]
        return any("int64" in self._dtypes.get(name, ()) for name in small)

    @cached_property
    def _dtypes(self) -> dict[str, set[str]]:
        """The dtypes of each argument in the kata's cases."""
        found: dict[str, set[str]] = {}
        for case in self.oracle.answered.cases:
            for name, value in case.arguments.items():
                found.setdefault(name, set()).add(dtype_name(value))
        return found

    def for_student(self, student: Student) -> CheckContext:
        """Return a context for another student object, with a trace of its own, that shares the answers."""
        context = copy.copy(self)
        context.student = student
        if self.parts is not None:
            context.student = PartsStudent(student, self.parts)
            context.kata = context.student.observing(self.kata)
        return context

    def observe(self, case: Case) -> Observation:
        """Return the answer to `case`, which is requested only once. Raises what the submission raised."""
        if case.index not in self._observations:
            self._observations[case.index] = self._call_submission(case)
        observation = self._observations[case.index]
        self.student.trace[:] = observation.trace
        if self.student.history is not None:
            self.student.history[:] = observation.history
        if isinstance(self.student, PartsStudent):
            self.student.reached.add(observation.reached)
        if observation.failure is not None:
            raise observation.failure
        return observation

    def _call_submission(self, case: Case) -> Observation:
        self.student.trace.clear()
        observed: dict[str, Any] | None = None
        failure: SubmissionFailed | ExpectationFailed | NotWritten | None = None
        with self.student.watching_arguments() as watched:
            try:
                observed = dict(self.kata.observed(self.student, case.arguments))
            except (SubmissionFailed, ExpectationFailed, NotWritten) as raised:
                failure = raised  # `expect.loads` raises ExpectationFailed
        changed = [(call, name) for call, name, _ in watched.changed_arguments]
        trace, history = list(self.student.trace), list(self.student.history or ())
        found = Observation(observed, failure, changed, trace, history)
        if isinstance(self.student, PartsStudent):
            found.reached.add(self.student.reached)
            self._note_wrong_parts(self.student, case, observed or {})
        return found

    def _note_wrong_parts(self, student: PartsStudent, case: Case, observed: dict[str, Any]) -> None:
        expected = self.oracle.expected(case)
        dtype = plain_dtype(float_dtype(expected.native))
        tolerance = case.precision.tolerance(self.kata.roundings)
        for name, value in observed.items():
            if first_difference(expected.exact[name], value, tolerance, dtype):
                student.note_wrong(name, value)

    def answers(self) -> list[tuple[Case, dict[str, Any]]]:
        """Return the values observed so far, with their cases. Cases whose call raised, or that need an
        unwritten part, are left out."""
        cases = self.oracle.answered.cases
        return [(cases[at], one.observed) for at, one in self._observations.items() if one.failure is None]

    def expected(self, case: Case) -> Expected:
        """Return what the reference answers to `case`, without what needs an unwritten part."""
        expected = self.oracle.expected(case)
        if self.parts is None:
            return expected
        seen = self.observe(case).observed
        exact, native = (
            {name: value for name, value in answer.items() if name in seen}
            for answer in (expected.exact, expected.native)
        )
        return replace(expected, exact=exact, native=native)


Judge = Callable[[CheckContext, Case], None]


@dataclass
class Check:
    """A check of one kata, worth `points` (in hundredths): `judge` is called for each of its cases."""

    name: str
    title: str
    points: int
    cases: list[Case]
    judge: Judge
    parameters: tuple[str, ...] | None = None  # the arguments that a law takes; None if a check takes all

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {case.index: position for position, case in enumerate(self.cases)}

    def position(self, case: Case) -> int:
        """Return the position of one of the `cases`."""
        return self._positions[case.index]


@dataclass
class PreparedKata:
    """A kata with what the gradings of all its submissions share."""

    info: KataInfo
    kata: Kata
    oracle: Oracle
    checks: list[Check]
