"""What a check is, and what it asks: a student facing one kata, case by case."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grader.answer_keys.answers import Expected
from grader.cases import generation
from grader.cases.oracle import Oracle
from grader.course.catalog import KataInfo
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Case, Kata
from grader.worker.student import Call, Student


class Skip(Exception):
    """A case that this check cannot judge."""


@dataclass
class Observation:
    """What a submission answered to one case of the kata, kept for all free checks."""

    observed: Any
    failure: SubmissionFailed | ExpectationFailed | None
    changed: list[str]
    trace: list[Call]


class CheckContext:
    """One student facing one kata. Each case of the bank is asked once; all checks share the answers."""

    def __init__(self, kata: Kata, oracle: Oracle, student: Student) -> None:
        self.kata, self.oracle, self.student = kata, oracle, student
        self._observations: dict[int, Observation] = {}

    def beside(self, student: Student) -> CheckContext:
        """The same session, seen by one case: with the student and the trace of that case alone."""
        session = copy.copy(self)
        session.student = student
        return session

    def observe(self, case: Case) -> Observation:
        """The answer to `case`; asked once, then remembered. Raises what the submission raised."""
        if id(case) not in self._observations:
            self._observations[id(case)] = self._look(case)
        seen = self._observations[id(case)]
        self.student.trace[:] = seen.trace
        if seen.failure is not None:
            raise seen.failure
        return seen

    def _look(self, case: Case) -> Observation:
        self.student.trace.clear()
        observed: dict[str, Any] | None = None
        failure: SubmissionFailed | ExpectationFailed | None = None
        with self.student.watching_arguments() as watched:
            try:
                observed = dict(self.kata.observed(self.student, case))
            except (
                SubmissionFailed,
                ExpectationFailed,
            ) as raised:  # ExpectationFailed: a module without the due parameters
                failure = raised
        return Observation(observed, failure, watched.changed, list(self.student.trace))

    def answers(self) -> list[dict[str, Any] | None]:
        """What came back for each case of the bank that was asked; None where the call raised."""
        return [seen.observed for seen in self._observations.values()]

    def expected(self, case: Case) -> Expected:
        """What the reference answers to `case`, from the key where it stands there."""
        return self.oracle.expected(case)


Judge = Callable[[CheckContext, Case], None]


@dataclass
class Check:
    """A check before it is run."""

    name: str
    title: str
    points: int
    cases: list[Case]
    judge: Judge
    parameters: tuple[str, ...] | None = None  # the arguments that a law takes; None for all
    _weights: dict[int, tuple[int, float]] = field(default_factory=dict)

    @cached_property
    def positions(self) -> dict[int, int]:
        """Where each case (by id) stands among `cases`."""
        return {id(case): index for index, case in enumerate(self.cases)}

    def weight(self, case: Case) -> tuple[int, float]:
        """How much a person has to read of one of the `cases`."""
        if id(case) not in self._weights:
            self._weights[id(case)] = generation.weight(case)
        return self._weights[id(case)]


@dataclass
class PreparedKata:
    """A kata with everything that its submissions share: declaration, oracle, plan of checks."""

    info: KataInfo
    kata: Kata
    oracle: Oracle
    checks: list[Check]
