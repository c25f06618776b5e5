"""Compare the local variables of a failing call with those of the reference.

The search for a repair begins where the values part, and the report names the first variable that differs.
Nothing of the reference leaves the grader but that a value of the submission's agrees with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from grader.checks.base import PreparedKata
from grader.checks.builtin import agrees_with_reference
from grader.checks.runner import CheckResult
from grader.kata import Case
from grader.report import Waypoint
from grader.values.arrays import distinct_values, to_numpy
from grader.values.comparison import Tolerance, first_difference
from grader.worker.client import WorkerLost
from grader.worker.student import Student

MOST_VALUES = 80
#: By how many candidates edits of a line are put off: it does not run in the failing call, its values agree,
#: it follows the first variable that differs, or no value of its function differs there first.
NOT_RUN, AGREES, LATER, OTHER = 40, 15, 8, 4


@dataclass(frozen=True, eq=False)
class Value:
    """What a local variable held: its function, its name (empty for what is returned), and the line that
    assigned it; whether it agrees with a value of the reference, whether that can be a coincidence, and
    whether it differs from the one of its name."""

    function: str
    name: str
    line: int
    array: Any
    agrees: bool = False
    is_trivial: bool = False
    differs: bool = False

    @property
    def tells_much(self) -> bool:
        """Whether the value agrees with the reference, and not by coincidence."""
        return self.agrees and not self.is_trivial


@dataclass(frozen=True)
class Trace:
    """The lines that ran in a failing call, and the values of its variables in the order of assignment."""

    lines: frozenset[int] = frozenset()
    values: tuple[Value, ...] = ()
    raised: int = 0  # the line that raised an exception; 0 if none did

    def delay(self, line: int) -> int:
        """Return how many candidates go before an edit of this line: more where a mistake is less likely."""
        if self.raised and not self.first:
            return NOT_RUN if line > self.raised else min(self.raised - line, AGREES)
        if self.lines and line not in self.lines:
            return NOT_RUN
        here = [value for value in self.values if value.line == line]
        if here and all(value.tells_much for value in here):
            return AGREES
        if self.first and line > self.first.line and any(v.function == self.first.function for v in here):
            return LATER
        return OTHER if self._suspects and line not in self._suspects else 0

    @cached_property
    def _suspects(self) -> set[int]:
        """The lines of the first value of each function that does not agree."""
        found: dict[str, int] = {}
        for value in self.values:
            if not value.agrees:
                found.setdefault(value.function, value.line)
        return set(found.values()) if any(value.agrees for value in self.values) else set()

    @property
    def waypoint(self) -> Waypoint | None:
        """The last variable that agrees, the first that differs after it, and the line of that one."""
        differs = self.first
        if differs is None:
            return None
        before = self.values[: self.values.index(differs)]
        agree = [value.name for value in before if value.tells_much and value.name]
        return Waypoint(agree[-1] if agree else "", differs.name, differs.line)

    @cached_property
    def first(self) -> Value | None:
        """The first value that differs from the one of its name."""
        return next((value for value in self.values if value.differs), None)


def trace_of(prepared: PreparedKata, student: Student, case: Case) -> Trace:
    """Return the trace of a submission's call with a case of the kata. Raises WorkerLost."""
    lines, mine = _traced(prepared, student, case)
    if prepared.oracle.recorded is not None:  # an answer key has no reference
        return Trace(lines, tuple(mine))
    _, theirs = _traced(prepared, prepared.oracle.reference, case)
    tolerance = prepared.oracle.precision(case).tolerance(prepared.kata.roundings)
    return Trace(lines, tuple(_compared(mine, theirs, tolerance)))


def traceable_cases(finding: CheckResult) -> tuple[Case, Case] | None:
    """Return two cases of the kata that fail: the smallest one with a wrong value or, if the code raises, the
    largest one, whose variables differ most; and one of medium weight."""
    if finding.plan.judge is not agrees_with_reference:
        return None  # a law may call the submission in another way
    wrong = [f.case for f in finding.failures if f.difference and f.difference.kind == "value"]
    raised = [] if wrong else [failure.case for failure in finding.failures if failure.line]
    cases = sorted(wrong or raised, key=finding.plan.weight)
    return (cases[-1 if raised else 0], cases[len(cases) // 2]) if cases else None


def _traced(prepared: PreparedKata, student: Student, case: Case) -> tuple[frozenset[int], list[Value]]:
    """Return the lines that a call runs and the values of its variables. Raises WorkerLost."""
    with student.tracing() as traced:
        try:
            prepared.kata.observed(student, case)
        except WorkerLost:
            raise
        except Exception:  # a call has raised, and the kata cannot use its None
            pass
        finally:
            student.trace.clear()
    values = [Value(*value) for trace in traced.traces for value in trace["values"]]
    lines = frozenset(line for trace in traced.traces for line in trace["lines"])
    return lines, values[:MOST_VALUES]


def _compared(mine: list[Value], theirs: list[Value], tolerance: Tolerance) -> Iterator[Value]:
    """Yield the values of a submission with what their comparison with the reference's has shown. One differs
    if the reference assigns its name as often and never this value; before any that agrees, only if it has as
    many axes there. What is returned differs if the variable before it agrees."""
    assigned, known = Counter(value.name for value in mine), Counter(value.name for value in theirs)
    axes = {(value.name, len(_shape(value.array))) for value in theirs}
    before: Value | None = None
    some_agree = False
    for value in mine:
        agrees = any(_same(their.array, value.array, tolerance) for their in theirs)
        if value.name:
            is_due = assigned[value.name] == known[value.name]
            is_due = is_due and (some_agree or (value.name, len(_shape(value.array))) in axes)
        else:
            functions = {one.function for one in (value, before, *theirs[-1:]) if one}
            is_due = value is mine[-1] and len(functions) == 1 and bool(before and before.tells_much)
        is_trivial = len(distinct_values(value.array)) < 2
        before = replace(value, agrees=agrees, is_trivial=is_trivial, differs=is_due and not agrees)
        some_agree = some_agree or before.tells_much
        yield before


def _same(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    expected, got = to_numpy(expected), to_numpy(got)
    if expected is None or got is None or expected.shape != got.shape:
        return False
    if "b" in (expected.dtype.kind, got.dtype.kind):  # a mask may hold 0 and 1
        expected, got = expected.astype(float), got.astype(float)
    return first_difference(expected, got, tolerance) is None


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))
