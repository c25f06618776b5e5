"""Graders on this machine: one process a core and one more, each warm, each judging one submission at a time.

They are forked from a process that has imported NumPy and nothing else, so that what a submission runs beside
has never held another student's work.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from grader.classroom.task import GraderOptions, Task, Verdict, judge, judging_digest, refusal
from grader.course.catalog import CourseError
from grader.course.submission import SubmissionRejected
from grader.grading.startup import COMPLAINTS, open_grader

TRIES = 2  # graders that one submission may lose before it is put aside
LOOK_SECONDS = 5.0  # between looks at graders that do not come back
TASK_SECONDS = 1800.0  # on the clock, after which a grader counts as lost
WARM = ["numpy", "grader.classroom.pool"]  # PyTorch is imported once the server of NumPy's workers is forked


@dataclass
class GraderProcess:
    """One grading process, and what it is busy with."""

    process: Any
    channel: Any
    task: Task | None = None
    since: float = 0.0  # when it was given the task


class Pool:
    """Graders in processes of this machine. Raises what opening the first one raises."""

    def __init__(self, order: GraderOptions, size: int = 0) -> None:
        self.order = order
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(WARM)
        self._losses: dict[tuple[str, str], int] = {}
        self._seats = [self._open()]  # alone, until it is known that one can be opened
        self.judging: Mapping[str, str] = self._greeted(self._seats[0])
        self._seats += [self._open() for _ in range((size or _usual_size()) - 1)]
        for seat in self._seats[1:]:
            self._greeted(seat)

    def _open(self) -> GraderProcess:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs, self.order), daemon=True)
        process.start()
        theirs.close()
        return GraderProcess(process, ours)

    def _greeted(self, seat: GraderProcess) -> Mapping[str, str]:
        try:
            said = seat.channel.recv()
        except (EOFError, OSError):
            self.close()
            raise CourseError("A grading process ended before it had begun.") from None
        if isinstance(said, Exception):
            self.close()
            raise said
        greeting: Mapping[str, str] = said
        return greeting

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Verdict]]:
        """Verdicts as they come."""
        for seat in self._seats:
            self._occupy(seat, next(tasks, None))
        while busy := {seat.channel: seat for seat in self._seats if seat.task}:
            self._end_overdue()
            for channel in connection.wait(list(busy), LOOK_SECONDS):
                seat = busy[channel]
                task, verdict = seat.task, self._answer(seat)
                assert task is not None
                if verdict is not None:
                    yield task, verdict
                self._occupy(seat, next(tasks, None) if verdict is not None else task)

    def _occupy(self, seat: GraderProcess, task: Task | None) -> None:
        seat.task, seat.since = task, time.monotonic()
        if task is not None:
            with suppress(OSError):  # it is gone: its end of the channel says so
                seat.channel.send(task)

    def _end_overdue(self) -> None:
        """End graders that do not come back; they count as lost, and their tasks are tried once more."""
        for seat in self._seats:
            if seat.task is not None and time.monotonic() - seat.since > TASK_SECONDS:
                seat.process.kill()

    def _answer(self, seat: GraderProcess) -> Verdict | None:
        """What a grader says of its task; None where it was lost and another must be asked."""
        try:
            verdict: Verdict = seat.channel.recv()
            return verdict
        except (EOFError, OSError):
            assert seat.task is not None
            self._replace(seat)
            return self._lost(seat.task)

    def _lost(self, task: Task) -> Verdict | None:
        name = (task.kata, task.digest)
        self._losses[name] = self._losses.get(name, 0) + 1
        if self._losses[name] < TRIES:
            return None
        info = self.order.course.kata_info(task.kata)
        return refusal(
            info, SubmissionRejected(f"{info.name}.py ended the grading process twice, and was put aside.")
        )

    def _replace(self, seat: GraderProcess) -> None:
        seat.channel.close()
        seat.process.join(1)
        fresh = self._open()
        seat.process, seat.channel = fresh.process, fresh.channel
        self._greeted(seat)

    def close(self) -> None:
        """Hang up; a grader ends when nobody listens. One that is busy is ended."""
        for seat in self._seats:
            seat.channel.close()
            if seat.task is not None:
                seat.process.terminate()
        for seat in self._seats:
            seat.process.join(5)


def _usual_size() -> int:
    """One a core, and one more: a grader waits now and then, for a worker to begin or to end."""
    return (os.cpu_count() or 1) + 1


def serve(channel: Any, order: GraderOptions) -> None:
    """A grading process's whole life: a greeting, then a verdict for each task, until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that holds the results
    course, infos = order.course, {info.name: info for info in order.kata_infos()}
    try:
        grader, source = open_grader(
            course,
            list(infos.values()),
            device=order.device,
            isolation=order.isolation,
            key=order.key,
            secret=order.secret,
        )
    except COMPLAINTS as error:
        channel.send(error)
        return
    with closing(source), suppress(EOFError, BrokenPipeError, ConnectionResetError):
        key = grader.keyring.digest if grader.keyring else ""
        channel.send({name: judging_digest(order, course, info, key) for name, info in infos.items()})
        while True:
            task = channel.recv()
            channel.send(_judged(grader, infos[task.kata], task))


def _judged(grader: Any, info: Any, task: Task) -> Verdict:
    try:
        return judge(grader, info, task)
    except Exception as error:  # ours: it costs no student a point, and the others are still graded
        if os.environ.get("DOJO_DEBUG"):
            raise
        return Verdict("error", 0, 0, "", fault=f"{type(error).__name__}: {error}")
