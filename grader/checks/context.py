"""Checks, and the context in which they call a submission.

A check returns nothing, or raises why a case fails together with the calls that it complains about
(`CaseFailed`). It writes nothing down.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from grader.answer_keys.answers import Case, Expected
from grader.cases.oracle import Oracle
from grader.checks.parts import Parts, PartsStudent, Reached
from grader.course.catalog import KataInfo
from grader.expect import ExpectationFailed
from grader.kata import Arguments, Kata
from grader.report import CheckRole
from grader.values.arrays import dtype_name, float_dtype, leaves
from grader.values.comparison import Difference, first_difference, plain_dtype
from grader.worker.calls import Call, Calls, CaseFailed, KeptCalls
from grader.worker.client import WorkerLost
from grader.worker.student import Student

#: PyTorch has next to no operations for most of these, and uint8 is a mask where it is an index. Where a
#: statement asks for bytes it is uint8, which has all operations on bits.
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SMALL = ("int8", "int16")  # which PyTorch refuses as an index


@dataclass(frozen=True)
class Observation:
    """What a submission answered to one case of the kata: its `values`, or the exception that stopped it; and
    the calls made for it.

    `changed` are the arguments that were changed in place, each with its call. `reached` are the parts that
    were called, if some are not written.
    """

    values: dict[str, Any]
    failure: Exception | None
    calls: Calls
    changed: tuple[tuple[Call, str], ...] = ()
    reached: Reached = field(default_factory=Reached)

    @property
    def observed(self) -> dict[str, Any]:
        """The values. Raises CaseFailed if there are none."""
        if self.failure is not None:
            raise CaseFailed(self.failure, self.calls)
        return self.values

    @property
    def is_refused(self) -> bool:
        """Whether the submission raised, or the kata refused what it returned."""
        return self.failure is not None and CaseFailed(self.failure, self.calls).is_refusal

    def complaint(
        self, sentence: str, difference: Difference | None = None, call: Call | None = None
    ) -> CaseFailed:
        """Return what to raise if a claim about the answer does not hold. It is about `call`, or about the
        last one."""
        return CaseFailed(ExpectationFailed(sentence, difference), self.calls.until(call))


class CheckContext:
    """A submission, a kata and its oracle. All checks share the answers to the kata's cases. `parts` are
    those of a submission of which some are not written, and `row` is the row of numbers that constants are
    judged on; None for all."""

    def __init__(
        self,
        kata: Kata,
        oracle: Oracle,
        student: Student,
        parts: Parts | None = None,
        row: int | None = None,
    ) -> None:
        self.kata, self.oracle, self.student = kata, oracle, student
        self.parts, self.row = parts, row
        self._observations: dict[int, Observation] = {}  # by the case's index

    @property
    def is_translated(self) -> bool:
        """True if the kata's arrays arrive as tensors: the answer is in PyTorch, and the kata in NumPy."""
        return self.kata.library != self.oracle.kata.library

    def leaves_out(self, case: Case) -> bool:
        """Return whether a case is left out for an answer in PyTorch, where integers are int32 or int64: it
        holds unsigned ones, but for an argument that is always of uint8, or small ones in an argument that
        may be of any integer dtype."""
        if not self.is_translated:
            return False
        others = [value for name, value in case.arguments.items() if self._dtypes.get(name) != {"uint8"}]
        if any(dtype_name(leaf) in UNSIGNED for leaf in leaves(others)):
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
        """Return a context for another student object, that shares the answers."""
        context = copy.copy(self)
        context.student = student
        if self.parts is not None:
            context.student = PartsStudent(student, self.parts)
            context.kata = context.student.observing(self.kata)
        return context

    def observe(self, case: Case) -> Observation:
        """Return the answer to `case`, which is requested only once. Raises CaseFailed if the worker is
        lost."""
        if case.index not in self._observations:
            self._observations[case.index] = self._call_submission(case)
        found = self._observations[case.index]
        if isinstance(self.student, PartsStudent):
            self.student.reached.add(found.reached)
        return found

    def take_over(self, other: CheckContext) -> None:
        """Take over the answers of the same submission to the cases that all seeds have."""
        cases = other.oracle.answered.cases
        self._observations |= {at: one for at, one in other._observations.items() if cases[at].is_shared}

    def _call_submission(self, case: Case) -> Observation:
        with self.student.watching_arguments() as watched:
            found = self.ask(case.arguments)
        changed = tuple((call, name) for call, name, _ in watched.changed_arguments)
        if not isinstance(self.student, PartsStudent):
            return replace(found, changed=changed) if changed else found
        reached = Reached()
        reached.add(self.student.reached)
        reached.wrong |= self._wrong_parts(self.student, case, found)
        return replace(found, changed=changed, reached=reached)

    def ask(self, arguments: Arguments, earlier: tuple[Call, ...] = ()) -> Observation:
        """Return the answer to the arguments of a case, which may depend on the calls made `earlier`. Raises
        CaseFailed if the worker is lost."""
        try:
            with KeptCalls(self.student, earlier) as made:
                values = dict(self.kata.observed(self.student, arguments))
        except CaseFailed as failed:
            if isinstance(failed.why, WorkerLost):
                raise
            return Observation({}, failed.why, failed.calls)
        return Observation(values, None, Calls(tuple(made), earlier))

    def _wrong_parts(self, student: PartsStudent, case: Case, found: Observation) -> set[str]:
        """Return the parts of which one gave a wrong answer to an observed case."""
        expected = self.oracle.expected(case)
        dtype = plain_dtype(float_dtype(expected.native))
        tolerance = case.precision.tolerance(self.kata.roundings)
        return {
            part
            for name, value in found.values.items()
            if first_difference(expected.exact[name], value, tolerance, dtype)
            for part in student.answering(name, value, found.calls.judged)
        }

    def answers(self) -> list[tuple[Case, dict[str, Any]]]:
        """Return the values observed so far, with their cases. Cases without an answer are left out."""
        cases = self.oracle.answered.cases
        return [(cases[at], one.values) for at, one in self._observations.items() if one.failure is None]

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


@dataclass(frozen=True)
class Nature:
    """What a check is, for those who ask it.

    Attributes:
        compares: Whether it is about what calls return, so that a known mistake with the same answers
            explains it. The others are about dtypes, memory and devices.
        of_agreement: Whether it compares each value of a case with the reference's, so that a wrong answer
            may be near the right one.
        of_state: Whether it fails if a call keeps something for later ones.
        is_measured: Whether it may rest on what is measured beside the submission.
        is_traced: Whether the trace of a failing call has the line at fault.
        asks_others: Whether it looks at other cases of the bank too.
        of_tensors: Whether it is about tensors alone, so that a reference in NumPy is not asked.
        is_slow: Whether it takes so long that mutants are asked the others before.
        is_optional: Whether only some katas have it.
        role: What a report says of it: see `CheckReport`.
        differs: What is wrong if values differ, as a sentence; "" if the title says which case that is.
    """

    compares: bool = False
    of_agreement: bool = False
    of_state: bool = False
    is_measured: bool = False
    is_traced: bool = False
    asks_others: bool = False
    of_tensors: bool = False
    is_slow: bool = False
    is_optional: bool = False
    role: CheckRole = ""
    differs: str = ""


OF_A_LAW = Nature(compares=True, is_measured=True)
OF_A_CORNER = Nature(compares=True, of_agreement=True)
OF_A_CONSTANT = Nature(compares=True)


@dataclass
class Check:
    """A check of one kata, worth `points` (in hundredths): `judge` is called for each of its cases."""

    name: str
    title: str
    points: int
    cases: list[Case]
    judge: Judge
    parameters: tuple[str, ...] | None = None  # the arguments that a law takes; None if a check takes all
    purpose: bool = False  # whether it holds what the kata is about, so that its failure caps the points
    nature: Nature = OF_A_CONSTANT

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
