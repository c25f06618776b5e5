"""Send the calls of many cases as one batch.

Most of a call is spent waiting for the worker. So the cases of a check run concurrently, each in a greenlet,
and their calls are sent together: the first call of every case, then the second, and so on. A case that
builds an object from the grader's source, or passes a function, may depend on state outside of its own
objects: from that call on it runs alone until it ends. Where there are no greenlets, one case runs after the
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from functools import partial
from itertools import takewhile
from typing import Any, Generic, TypeVar

try:
    from greenlet import getcurrent, greenlet
except ImportError:  # in a browser, where a call waits for nothing
    greenlet = None

from grader.worker.protocol.messages import BuildObject, Outcome, Request
from grader.worker.student import Student

TOGETHER = 16  # cases that run concurrently; more would only keep more answers in memory
LEVELS = 22  # on which a case runs in its greenlet, each of three C frames or more
Result = TypeVar("Result")


class CaseStudent(Student):
    """The student of one case: it keeps its own calls, and they wait until the batch is sent."""

    def perform(self, request: Request) -> Outcome:
        hub = getcurrent().parent
        assert hub is not None
        outcome: Outcome = hub.switch(request)
        return outcome


def on_many_frames(run: Callable[[Student], Result], student: Student, levels: int = LEVELS) -> Result:
    """Return what `run` returns, called through so many levels of C functions.

    Where PyTorch raises an error, it looks at the last 65 C frames. Those on which a greenlet was started may
    be overwritten by then, and it would crash the process.
    """
    if not levels:
        return run(student)
    called: Iterator[Any] = map(on_many_frames, (run,), (student,), (levels - 1,))
    result: Result = next(called)
    return result


class RunningCase(Generic[Result]):
    """A case. `yielded` is the request that it waits for or, when it has ended, its result."""

    def __init__(self, run: Callable[[Student], Result]) -> None:
        self._greenlet = greenlet(partial(on_many_frames, run))
        self._greenlet.gr_context = copy_context()
        self.yielded: Any = self._greenlet.switch(CaseStudent())
        self._alone = False

    @property
    def waits(self) -> bool:
        """True until the case has ended."""
        return not self._greenlet.dead

    @property
    def alone(self) -> bool:
        """True if no calls of other cases may run until this case ends."""
        self._alone = self._alone or isinstance(self.yielded, BuildObject) or bool(self.yielded.functions)
        return self._alone

    def resume(self, answer: Outcome | Exception) -> None:
        """Continue the case with the answer to its request, up to its next call. Raises what it raises."""
        go_on = self._greenlet.throw if isinstance(answer, Exception) else self._greenlet.switch
        self.yielded = go_on(answer)


def run_together(student: Student, runs: Sequence[Callable[[Student], Result]]) -> Iterator[Result]:
    """Yield the result of every run, in order, and send their calls to `student` in batches. Raises what a
    run raises."""
    if greenlet is None:
        yield from (run(student) for run in runs)
        return
    for start in range(0, len(runs), TOGETHER):
        cases = [RunningCase(run) for run in runs[start : start + TOGETHER]]
        while waiting := [case for case in cases if case.waits]:
            batch = list(takewhile(lambda case: not case.alone, waiting)) or waiting[:1]
            answers = student.perform_all([case.yielded for case in batch])
            for case, answer in zip(
                batch, answers, strict=False
            ):  # there are fewer answers if the worker was lost
                case.resume(answer)
        for case in cases:
            yield case.yielded
