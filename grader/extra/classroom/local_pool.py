"""A pool of grading processes on this machine; each grades one submission at a time.

The processes are forked from a server that has only imported NumPy, so they start fast and have never held
another student's work.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice, zip_longest
from multiprocessing import connection
from typing import Any

from grader.course.catalog import CourseError
from grader.extra.classroom.task import GraderOptions, Task, Verdict, judge, judging_digests, put_aside
from grader.grading.session import COMPLAINTS, open_grader

TRIES = 2  # grading processes that one submission may end before it is set aside
POLL_SECONDS = 5.0  # between checks for overdue graders
TASK_SECONDS = 1800.0  # wall-clock time, after which a grader counts as lost
#: Not PyTorch: it is imported after the fork server of NumPy workers has started.
PRELOADED = ["numpy", "grader.extra.classroom.local_pool"]


@dataclass
class GraderProcess:
    """One grading process and its current task."""

    process: Any
    channel: Any
    task: Task | None = None
    since: float = 0.0  # when the task was sent


class LocalPool:
    """Graders in processes of this machine. They start with the first tasks: a run in which nothing is to be
    judged starts none."""

    def __init__(self, options: GraderOptions, size: int = 0) -> None:
        self.options = options
        os.environ["PYTHONSAFEPATH"] = "1"  # the fork server must not import what lies in this folder
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._losses: dict[tuple[str, str], int] = {}
        self._size, self._graders = size or _usual_size(), list[GraderProcess]()
        self.judging: Mapping[str, str] = judging_digests(options)

    def _start(self, size: int) -> None:
        """Start graders; the others only if the first one can be opened. Raises what opening it raises."""
        self._graders.append(self._open())
        self._wait_until_ready(self._graders[0])
        self._graders += [self._open() for _ in range(size - 1)]
        for grader in self._graders[1:]:
            self._wait_until_ready(grader)

    def _open(self) -> GraderProcess:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs, self.options), daemon=True)
        process.start()
        theirs.close()
        return GraderProcess(process, ours)

    def _wait_until_ready(self, grader: GraderProcess) -> None:
        """Wait until a process has opened its grader. Raises what opening it raised."""
        try:
            reply = grader.channel.recv()
        except (EOFError, OSError):
            self.close()
            raise CourseError("A grading process ended before it had begun.") from None
        if isinstance(reply, Exception):
            self.close()
            raise reply

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Verdict]]:
        """Yield verdicts in any order; a task whose grader was lost is sent to another one."""
        first = list(islice(tasks, self._size))
        if not self._graders and first:
            self._start(len(first))
        for grader, task in zip_longest(self._graders, first):
            self._send(grader, task)
        while busy := {grader.channel: grader for grader in self._graders if grader.task}:
            self._end_overdue()
            for channel in connection.wait(list(busy), POLL_SECONDS):
                grader = busy[channel]
                task, verdict = grader.task, self._answer(grader)
                assert task is not None
                if verdict is not None:
                    yield task, verdict
                self._send(grader, next(tasks, None) if verdict is not None else task)

    def _send(self, grader: GraderProcess, task: Task | None) -> None:
        grader.task, grader.since = task, time.monotonic()
        if task is not None:
            with suppress(OSError):  # the process has ended; `recv` reports it
                grader.channel.send(task)

    def _end_overdue(self) -> None:
        """Kill graders that exceed the time limit; their tasks are tried again."""
        for grader in self._graders:
            if grader.task is not None and time.monotonic() - grader.since > TASK_SECONDS:
                grader.process.kill()

    def _answer(self, grader: GraderProcess) -> Verdict | None:
        """Return the grader's verdict, or None if the grader was lost and the task must be tried again."""
        try:
            verdict: Verdict = grader.channel.recv()
            return verdict
        except (EOFError, OSError):
            assert grader.task is not None
            self._replace(grader)
            return self._lost(grader.task)

    def _lost(self, task: Task) -> Verdict | None:
        """Count a lost grader; put the task aside if it has ended too many of them, else return None."""
        name = (task.kata, task.digest)
        self._losses[name] = self._losses.get(name, 0) + 1
        if self._losses[name] < TRIES:
            return None
        info = self.options.course.kata_info(task.kata)
        return put_aside(info)

    def _replace(self, grader: GraderProcess) -> None:
        grader.channel.close()
        grader.process.join(1)
        fresh = self._open()
        grader.process, grader.channel = fresh.process, fresh.channel
        self._wait_until_ready(grader)

    def close(self) -> None:
        """Close the channels, which ends idle graders, and terminate busy ones."""
        for grader in self._graders:
            grader.channel.close()
            if grader.task is not None:
                grader.process.terminate()
        for grader in self._graders:
            grader.process.join(5)


def _usual_size() -> int:
    """Return the number of cores plus one, since graders sometimes wait for a worker to start or end."""
    return (os.cpu_count() or 1) + 1


def serve(channel: Any, options: GraderOptions) -> None:
    """Run a grading process: say that it is ready, then send a verdict per task, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process
    infos = {info.name: info for info in options.kata_infos()}
    try:
        grader, source = open_grader(options.course, list(infos.values()), options.grader_settings)
    except COMPLAINTS as error:
        channel.send(error)
        return
    with closing(source), suppress(EOFError, BrokenPipeError, ConnectionResetError):
        channel.send(None)
        while True:
            task = channel.recv()
            channel.send(_judged(grader, infos[task.kata], task))


def _judged(grader: Any, info: Any, task: Task) -> Verdict:
    try:
        return judge(grader, info, task)
    except Exception as error:  # a fault of the grader costs no points, and other files are still graded
        if os.environ.get("DOJO_DEBUG"):
            raise
        return Verdict("error", 0, 0, "", fault=f"{type(error).__name__}: {error}")
