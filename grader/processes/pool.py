"""Share tasks among processes of the grader's own code on this machine.

Their messages are pickled, so none of them runs a submission: a worker does, which sends frames
(`grader.worker.protocol`).
"""

from __future__ import annotations

import atexit
import math
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import connection
from typing import Any, Generic, TypeVar

from grader.errors import CourseError
from grader.processes.ending import ASK_SECONDS, KILL_SECONDS, WAIT_SECONDS, end
from grader.worker.protocol.system_calls import die_with_parent

TRIES = 2  # processes that one task may end, and that may end in a row before they are open
OPEN_SECONDS = 600.0  # wall-clock time in which a process opens


class Child:
    """A process that runs `work(channel, *arguments)`, and the other end of its channel. It dies with this
    process, and leads a session, so that Ctrl-C ends this process alone, which then ends the child."""

    def __init__(self, context: Any, work: Callable[..., None], *arguments: Any) -> None:
        self.channel, theirs = context.Pipe()
        self._process = context.Process(target=_begin, args=(theirs, work, *arguments))
        self._process.start()
        self.pid: int = self._process.pid
        theirs.close()

    def end(self, wait: float = WAIT_SECONDS, ask: float = ASK_SECONDS) -> int | None:
        """Close the channel, which ends a process that waits for a message, and return the exit code."""
        self.channel.close()
        end(self.pid, lambda seconds: bool(connection.wait([self._process.sentinel], seconds)), wait, ask)
        self._process.join(KILL_SECONDS)
        code: int | None = self._process.exitcode
        return code


def _begin(channel: Any, work: Callable[..., None], *arguments: Any) -> None:
    if hasattr(os, "setsid"):
        os.setsid()
    die_with_parent()
    with suppress(BrokenPipeError, ConnectionResetError):
        work(channel, *arguments)


Task = TypeVar("Task")
Result = TypeVar("Result")
Opens = Callable[[], AbstractContextManager[Callable[[Task], Result]]]


@dataclass(frozen=True)
class Lost:
    """The result of a task that has ended its processes: the exit code of the last one, and whether it was
    killed for taking too long."""

    code: int | None
    is_late: bool = False


@dataclass(eq=False)
class _Job:
    """A task and its process: how many others the task has ended, whether this one is open, and since when it
    opens or works."""

    child: Child
    task: Any
    losses: int
    is_open: bool
    since: float = field(default_factory=time.monotonic)


class Pool(Generic[Task, Result]):
    """Processes of this machine that work on one task each. They start with the first tasks.

    `opens()` is called in each process and returns a context, whose value is the function of a task. A task
    whose process dies, or exceeds `seconds`, is tried again in another one, and no other task is affected.
    The pools of the standard library do not offer this: one that has lost a process fails all tasks
    (concurrent.futures), or waits for the lost result without an end (multiprocessing.Pool).

    The processes are forked from a server, which has imported `preload` alone, and work on many tasks. With
    `forks`, each task gets a fork of this process.
    """

    def __init__(
        self,
        opens: Opens[Task, Result],
        size: int = 0,
        *,
        preload: Sequence[str] = (),
        seconds: float = math.inf,
        tries: int = 0,
        forks: bool = False,
    ) -> None:
        self._opens, self._forks = opens, forks
        self._size = size or (os.cpu_count() or 1) + 1  # each waits now and then for a worker
        self._seconds, self._tries = seconds, tries
        how = "fork" if forks else "forkserver"
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context(how if how in methods else "spawn")
        if not forks:
            os.environ["PYTHONSAFEPATH"] = "1"  # the server must not import what lies in this folder
            self._context.set_forkserver_preload(list(preload))
        self._jobs: dict[Any, _Job] = {}  # by the channel of the process
        self._idle: list[Child] = []
        self._failed_starts = 0  # in a row

    @property
    def children(self) -> list[Child]:
        """The processes that run."""
        return [*self._idle, *(job.child for job in self._jobs.values())]

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Result | Lost]]:
        """Yield the tasks with their results in any order. A task is taken from the iterator only when a
        process is free. Raises what a process raises, and CourseError if none can be started."""
        for task in islice(tasks, self._size):
            self._send(task)
        while self._jobs:
            ready = connection.wait([*self._jobs], self._seconds_left())
            for channel, job in list(self._jobs.items()):
                if channel not in ready and time.monotonic() < self._end_of(job):
                    continue
                kind, result = self._answer(job) if channel in ready else self._lost(job, is_late=True)
                if kind == "opened":
                    job.is_open, self._failed_starts = True, 0
                    self._give(job)
                elif kind == "raised":
                    self.close()
                    raise result
                elif kind == "lost" and job.losses + 1 < (self._tries or TRIES):
                    self._send(job.task, job.losses + 1)
                else:
                    yield job.task, result
                    for task in islice(tasks, 1):
                        self._send(task)

    def _send(self, task: Task, losses: int = 0) -> None:
        """Give a task to a free process, or to a new one, which gets it once it is open."""
        if not self.children:
            atexit.register(self.close)  # multiprocessing waits for what still runs when this process ends
        is_open = self._forks or bool(self._idle)
        child = (
            self._idle.pop()
            if self._idle
            else Child(self._context, partial(_serve, is_once=self._forks), self._opens)
        )
        job = self._jobs[child.channel] = _Job(child, task, losses, is_open)
        if is_open:
            self._give(job)

    def _give(self, job: _Job) -> None:
        job.since = time.monotonic()
        with suppress(OSError):  # the process has ended, which reading tells
            job.child.channel.send(job.task)

    def _seconds_left(self) -> float | None:
        """Return for how long no task can be late."""
        until = min(map(self._end_of, self._jobs.values()))
        return None if until == math.inf else max(0.0, until - time.monotonic())

    def _end_of(self, job: _Job) -> float:
        return job.since + (self._seconds if job.is_open else OPEN_SECONDS)

    def _answer(self, job: _Job) -> tuple[str, Any]:
        """Return what the process says, or that it was lost."""
        try:
            kind, value = job.child.channel.recv()
        except (EOFError, OSError):
            return self._lost(job)
        if kind == "done":
            del self._jobs[job.child.channel]
            if self._forks:
                job.child.end()
            else:
                self._idle.append(job.child)
        return kind, value

    def _lost(self, job: _Job, *, is_late: bool = False) -> tuple[str, Any]:
        del self._jobs[job.child.channel]
        code = job.child.end(wait=0.0 if is_late else ASK_SECONDS, ask=0.0)
        if job.is_open:
            return "lost", Lost(code, is_late)
        self._failed_starts += 1
        if self._failed_starts < (self._tries or TRIES):
            job.losses -= 1  # it was no fault of the task
            return "lost", Lost(code, is_late)
        self.close()
        raise CourseError("A process of the grader ended before it had begun.")

    def close(self) -> None:
        """Kill the processes that work on a task at once, and let the others end."""
        atexit.unregister(self.close)
        jobs, self._jobs = self._jobs, {}
        idle, self._idle = self._idle, []
        for child in idle:
            child.channel.close()
        for job in jobs.values():
            job.child.end(wait=0.0, ask=0.0)
        for child in idle:
            child.end()


def _serve(channel: Any, opens: Opens[Any, Any], *, is_once: bool) -> None:
    """Send the result of each task that comes, until the pool closes the channel."""
    try:
        with opens() as work:
            if not is_once:
                channel.send(("opened", None))
            for task in islice(_received(channel), 1 if is_once else None):
                channel.send(("done", work(task)))
    except BaseException as error:
        error.add_note(traceback.format_exc())
        channel.send(("raised", error))


def _received(channel: Any) -> Iterator[Any]:
    with suppress(EOFError, ConnectionResetError):
        while True:
            yield channel.recv()
