"""What a check is, and what it asks: a student facing one kata, case by case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grader import bank
from grader.answer_key import Expected
from grader.expect import SubmissionFailed, Unmet
from grader.kata import Case, Kata
from grader.oracle import Oracle
from grader.precedents import Grounds, Precedents
from grader.worker.ahead import Answers
from grader.worker.script import Script
from grader.worker.student import Call, Student


class Skip(Exception):
    """A case that this check cannot judge."""


@dataclass
class Sighting:
    """What a submission answered to one case of the bank, kept for all free checks."""

    observed: Any
    failure: SubmissionFailed | Unmet | None
    changed: list[str]
    trace: list[Call]


class Session:
    """One student facing one kata: every case of the bank is asked once, in order."""

    def __init__(
        self,
        kata: Kata,
        oracle: Oracle,
        student: Student,
        scripts: dict[str, Script] | None = None,
        precedents: Precedents | None = None,
    ) -> None:
        self.kata, self.oracle, self.student = kata, oracle, student
        self.scripts, self.precedents = scripts or {}, precedents or Precedents()
        self._sightings: dict[int, Sighting] = {}
        self._seen: dict[int, Answers] = {}  # to each case of the bank; read when somebody wants to look
        self._expected: dict[int, Expected] = {}

    def sight(self, case: Case) -> Sighting:
        """The answer to `case`; asked once, then remembered. Raises what the submission raised."""
        if id(case) not in self._sightings:
            with self.student.answering(self._seen.get(id(case))):
                self._sightings[id(case)] = self._look(case)
        seen = self._sightings[id(case)]
        self.student.trace[:] = seen.trace
        if seen.failure is not None:
            raise seen.failure
        return seen

    def _look(self, case: Case) -> Sighting:
        self.student.trace.clear()
        observed: dict[str, Any] | None = None
        failure: SubmissionFailed | Unmet | None = None
        with self.student.watching_arguments() as watched:
            try:
                observed = dict(self.kata.observed(self.student, case))
            except (SubmissionFailed, Unmet) as raised:  # Unmet: a module without the due parameters
                failure = raised
        return Sighting(observed, failure, watched.changed, list(self.student.trace))

    @contextmanager
    def foreseeing(self, plan: CheckPlan) -> Iterator[Grounds | None]:
        """Where it is known what the check asks, it is asked in one piece: nothing in vain before it is known
        whether the submission keeps anything between calls. None where it has to be asked as the check goes
        on. Raises BegunAnew."""
        script, left_out = self.scripts.get(plan.name), self.unanswered() if plan.asks_again else ()
        with self.student.foreseeing(script, plan.of_the_bank, left_out) as answers:
            if plan.looks_only and answers is not None:
                self._seen = answers
            yield self._grounds(plan, answers)

    def _grounds(self, plan: CheckPlan, answers: dict[int, Answers] | None) -> Grounds | None:
        if not plan.of_the_bank:
            return None if answers is None else Grounds(plan.name, answers)
        if not self._seen or (plan.asks_again and answers is None):
            return None
        held = (answers, self._seen) if plan.asks_again and answers else (self._seen,)
        return Grounds(plan.name, *held, strict=True)

    def unanswered(self) -> set[int]:
        """Cases of the bank (by id) to which there was no answer; nobody asks those again."""
        raised = {case for case, answers in self._seen.items() if answers.raised}
        return raised | {case for case, seen in self._sightings.items() if seen.failure is not None}

    def anew(self) -> Session:
        """The same student and kata, and nothing remembered."""
        return Session(self.kata, self.oracle, self.student)

    def look_at_all(self) -> None:
        """Ask every case of the bank, in order, whatever comes of it."""
        for case in self.oracle.key.cases:
            with suppress(SubmissionFailed, Unmet):
                self.sight(case)

    def expected(self, case: Case) -> Expected:
        """What the reference answers to `case`, from the key where it stands there."""
        if not self._expected:
            key = self.oracle.key
            self._expected = {id(c): e for c, e in zip(key.cases, key.expected, strict=True)}
        return self._expected.get(id(case)) or self.oracle.expect(case)


Judge = Callable[[Session, Case], None]


@dataclass
class CheckPlan:
    """A check before it is run. `draw` shrinks a failing case; None where there is nothing to shrink."""

    name: str
    title: str
    points: int
    cases: list[Case]
    judge: Judge
    draw: Callable[..., Case] | None
    parameters: tuple[str, ...] | None = None  # the arguments that a law takes; None for all
    looks_only: bool = False  # it asks nothing beyond the one answer to each case of the bank
    asks_again: bool = False  # it asks once more when the whole bank has been answered
    slow: bool = False  # a case takes so long that only likely mistakes are asked it
    _weights: dict[int, tuple[int, float]] = field(default_factory=dict)

    @property
    def of_the_bank(self) -> bool:
        """Whether it rests on the answers to the bank: it looks at them, or asks for them once more."""
        return self.looks_only or self.asks_again

    @cached_property
    def positions(self) -> dict[int, int]:
        """Where each case (by id) stands among `cases`."""
        return {id(case): index for index, case in enumerate(self.cases)}

    def weight(self, case: Case) -> tuple[int, float]:
        """How much a person has to read of one of the `cases`."""
        if id(case) not in self._weights:
            self._weights[id(case)] = bank.weight(case)
        return self._weights[id(case)]
