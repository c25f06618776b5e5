"""Compare the local variables of a failing call with those of the reference.

The search for a repair begins where the values part, and the report names the first variable that differs.
Nothing of the reference leaves the grader but that a value of the submission's agrees with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.checks.base import PreparedKata
from grader.checks.runner import CheckResult
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Case
from grader.values.arrays import distinct_values
from grader.values.comparison import Tolerance, first_difference
from grader.worker.student import Student

MOST_VALUES = 80
NOT_RUN, AGREES, LATER = 60, 30, 15  # candidates by which an edit of such a line is put off


@dataclass(frozen=True)
class Value:
    """What a local variable held: its function, its name (empty for what is returned), and the line that
    assigned it; whether it agrees with a value of the reference, or differs from the one of its name."""

    function: str
    name: str
    line: int
    array: Any
    agrees: bool = False
    differs: bool = False


@dataclass(frozen=True)
class Trace:
    """The lines that ran in a failing call, and the values of its variables in the order of assignment."""

    lines: frozenset[int] = frozenset()
    values: tuple[Value, ...] = ()

    def suspicion(self, line: int) -> int:
        """Return by how many candidates an edit of the line is put off."""
        if self.lines and line not in self.lines:
            return NOT_RUN
        here = [value for value in self.values if value.line == line]
        if here and all(value.agrees for value in here):
            return AGREES
        first = next((value for value in self.values if value.differs), None)
        return LATER if first and line > first.line else 0

    @property
    def waypoint(self) -> tuple[str, str, int] | None:
        """The last variable that agrees, the first that differs after it, and the line of that one."""
        named = [value for value in self.values if value.name]
        at = next((index for index, value in enumerate(named) if value.differs), None)
        before = [value for value in named[:at] if value.agrees and value.function == named[at].function] if at else []
        return (before[-1].name, named[at].name, named[at].line) if at and before else None


def trace_of(prepared: PreparedKata, student: Student, case: Case) -> Trace:
    """Return the trace of a submission's call with a case of the kata. Raises WorkerLost."""
    lines, mine = _traced(prepared, student, case)
    if prepared.oracle.recorded is not None:  # an answer key has no reference
        return Trace(lines, tuple(mine))
    _, theirs = _traced(prepared, prepared.oracle.reference, case)
    tolerance = prepared.oracle.precision(case).tolerance(prepared.kata.roundings)
    return Trace(lines, tuple(_compared(mine, theirs, tolerance)))


def traceable_case(prepared: PreparedKata, finding: CheckResult, smallest: bool = False) -> Case | None:
    """Return a case of the kata that fails with a wrong value: one of medium weight, or the smallest."""
    own = {id(case) for case in prepared.oracle.key.cases}
    wrong = [f.case for f in finding.failures if f.difference and f.difference.kind == "value"]
    cases = sorted((case for case in wrong if id(case) in own), key=finding.plan.weight)
    return cases[0 if smallest else len(cases) // 2] if cases else None


def _traced(prepared: PreparedKata, student: Student, case: Case) -> tuple[frozenset[int], list[Value]]:
    """Return the lines that a call runs and the values of its variables; none if it raises."""
    try:
        with student.tracing() as traced:
            prepared.kata.observed(student, case)
    except (SubmissionFailed, ExpectationFailed):
        return frozenset(), []
    finally:
        student.trace.clear()
    values = [Value(*value) for trace in traced.traces for value in trace["values"]]
    lines = frozenset(line for trace in traced.traces for line in trace["lines"])
    return lines, values[:MOST_VALUES]


def _compared(mine: list[Value], theirs: list[Value], tolerance: Tolerance) -> Iterator[Value]:
    """Yield the values of a submission with what their comparison with the reference's has shown."""
    assigned, known = Counter(value.name for value in mine), Counter(value.name for value in theirs)
    for value in mine:
        agrees = any(_same(their.array, value.array, tolerance) for their in theirs)
        is_single = value.name and assigned[value.name] == known[value.name] == 1
        differs = not agrees and is_single and value.name in known
        tells = agrees and len(distinct_values(value.array)) > 1
        yield Value(value.function, value.name, value.line, value.array, tells, bool(differs))


def _same(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    shapes = (tuple(getattr(value, "shape", ())) for value in (expected, got))
    return len(set(shapes)) == 1 and first_difference(expected, got, tolerance) is None
