"""Send the calls of many cases as one batch.

Most of a call is spent waiting for the worker. So the cases of a check run side by side, each in a
greenlet, and the calls that they wait for go out together: the first call of every case, then the second,
and so on. A case that builds an object of the grader's, or that hands a function over, may rest on state
outside its own objects: from there on it runs alone, one call at a time, until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from itertools import takewhile
from typing import Any, Generic, TypeVar

from greenlet import getcurrent, greenlet

from grader.worker.protocol.messages import Outcome, Request
from grader.worker.student import Student

TOGETHER = 16  # cases that run side by side; more would only hold more answers in memory

Result = TypeVar("Result")


class CaseStudent(Student):
    """The student as one case sees it: with a trace of its own, and calls that wait for their batch."""

    def perform(self, request: Request) -> Outcome:
        hub = getcurrent().parent
        assert hub is not None
        outcome: Outcome = hub.switch(request)
        return outcome


class Case(Generic[Result]):
    """One running case: `said` is the request that it waits for, and in the end its result."""

    def __init__(self, run: Callable[[Student], Result]) -> None:
        self._greenlet = greenlet(run)
        self._greenlet.gr_context = copy_context()
        self.said: Any = self._greenlet.switch(CaseStudent())
        self._alone = False

    @property
    def waits(self) -> bool:
        """True until the case has ended."""
        return not self._greenlet.dead

    @property
    def alone(self) -> bool:
        """True if no call of another case may come in between."""
        self._alone = self._alone or bool(self.said.build or self.said.functions)
        return self._alone

    def resume(self, answer: Outcome | Exception) -> None:
        """Run on to the next call. Raises what the case raises."""
        go_on = self._greenlet.throw if isinstance(answer, Exception) else self._greenlet.switch
        self.said = go_on(answer)


def run_together(student: Student, runs: Sequence[Callable[[Student], Result]]) -> Iterator[Result]:
    """Yield the result of every run, in order; their calls go to `student` in batches. Raises what a run
    raises."""
    for start in range(0, len(runs), TOGETHER):
        cases = [Case(run) for run in runs[start : start + TOGETHER]]
        while waiting := [case for case in cases if case.waits]:
            batch = list(takewhile(lambda case: not case.alone, waiting)) or waiting[:1]
            answers = student.perform_all([case.said for case in batch])
            for case, answer in zip(batch, answers, strict=False):  # a lost worker answers no further
                case.resume(answer)
        for case in cases:
            yield case.said
