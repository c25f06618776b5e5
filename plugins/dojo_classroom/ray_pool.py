"""A pool of graders on the machines of a Ray cluster; each actor holds a local pool of one process.

The course is sent to every machine as one archive; the grader must be installed there. Ray runs in a process
of its own, because it ends its process when the cluster is lost, and may say nothing for minutes before. A
task whose grader is lost goes to another one, and a new grader is started on whatever machine has room.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import tempfile
import time
import zipfile
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grader
from dojo_classroom.task import FileVerdict, GraderOptions, LocalPool, Task
from grader.course.catalog import CourseError
from grader.grading.session import COMPLAINTS, LibraryMissing
from grader.installing import install_command
from grader.processes.pool import Child

SENT_FOLDERS = ("exercises", "tests/katas", "solutions", "keys")
COURSE, KEY, SECRET = "course", "the.key", "the.secret"
POLL_SECONDS = 1.0  # between signs of life of the process that holds Ray
SILENT_SECONDS = 90.0  # without one, after which the cluster counts as lost
OPEN_SECONDS = 300.0  # the same, while the cluster is opened
END_SECONDS = 10.0  # in which the process that holds Ray ends by itself
START_SECONDS = 180.0  # without any grader that works
FAILED_STARTS = 3  # in a row, after which no further grader is started
TRIES = 5  # graders that one task may lose before it is left for the next run


class ClusterLost(CourseError):
    """Raised if the cluster does not answer any more."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"The Ray cluster was lost: {text}. What was graded is kept; the same command goes on from there."
        )


class ClusterGrader:
    """The class of an actor: one grader with a copy of the course."""

    def __init__(self, options: GraderOptions, packed: bytes, version: str) -> None:
        if version != grader.__version__:
            raise CourseError(
                f"A machine of the cluster has grader {grader.__version__}, this one {version}."
            )
        self._folder = tempfile.TemporaryDirectory(prefix="dojo-course-")  # readable by this user only
        self._pool = LocalPool(unpacked(options, packed, Path(self._folder.name)), size=1)

    def judging(self) -> Mapping[str, str]:
        return self._pool.judging

    def judge(self, task: Task) -> FileVerdict:
        ((_, verdict),) = self._pool.judge(iter([task]))
        return verdict


class RayPool:
    """Graders on a cluster. Raises what opening the first grader raises."""

    def __init__(self, options: GraderOptions, size: int = 0, address: str = "") -> None:
        _require_ray()
        self._child = Child(multiprocessing.get_context("spawn"), drive, options, size, address)
        self._channel = self._child.channel
        self.judging: Mapping[str, str]
        self._size, self.judging = self._receive(OPEN_SECONDS)

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, FileVerdict]]:
        """Yield verdicts in any order; each grader has one task at a time. Raises ClusterLost."""
        running = sum(self._send(tasks) for _ in range(self._size))
        while running:
            yield self._receive(SILENT_SECONDS)
            running += self._send(tasks) - 1

    def _send(self, tasks: Iterator[Task]) -> bool:
        """Send the next task, and return whether there was one."""
        task = next(tasks, None)
        if task is not None:
            with suppress(OSError):  # the process has ended; `_receive` reports it
                self._channel.send(task)
        return task is not None

    def _receive(self, patience: float) -> Any:
        """Return the next answer of the process that holds Ray; a sign of life is None."""
        while self._channel.poll(patience):
            try:
                answer = self._channel.recv()
            except (EOFError, OSError):
                self.close()
                raise ClusterLost("the connection to it ended") from None
            if isinstance(answer, Exception):
                self.close()
                raise answer
            if answer is not None:
                return answer
        self.close()
        raise ClusterLost(f"it has said nothing for {patience:.0f} seconds")

    def close(self) -> None:
        """End the process that holds Ray, and with it the actors."""
        self._child.end(wait=END_SECONDS)


def drive(channel: Any, options: GraderOptions, size: int, address: str) -> None:
    """Run the process that holds Ray: send the number of graders and the setup's digests, then verdicts."""
    try:
        graders = _Graders(channel, options, size, address)
        channel.send((graders.size, graders.judging))
        graders.run()
    except (EOFError, OSError):
        pass  # the pool was closed
    except COMPLAINTS as error:
        with suppress(OSError):
            channel.send(error)


class _Graders:
    """The actors, and the tasks that they work on."""

    def __init__(self, channel: Any, options: GraderOptions, size: int, address: str) -> None:
        self._channel, self._options = channel, options
        self._ray = ray = _import_ray()
        try:
            own: dict[str, Any] = {} if address else {"include_dashboard": False}
            ray.init(address=address or None, log_to_driver=False, logging_level="error", **own)
        except Exception as error:  # Ray raises plain exceptions here too
            text = str(error).strip().partition("\n")[0]
            raise CourseError(f"No Ray cluster answers at {address or 'this machine'}: {text}") from None
        needs = {"num_cpus": 1, "num_gpus": int(options.settings.device == "cuda")}
        self._actor = ray.remote(max_restarts=0, max_task_retries=0, **needs)(ClusterGrader)
        self._packed = ray.put(pack(options))  # the reference keeps the archive in the cluster
        have = ray.cluster_resources()
        self.size = size or max(1, int(have.get("GPU" if needs["num_gpus"] else "CPU", 1)))
        self._starting: dict[Any, Any] = {}  # actors by the answer that says that they are ready
        self._idle: list[Any] = []
        self._running: dict[Any, tuple[Any, Task]] = {}
        self._queue: deque[Task] = deque()
        self._losses: Counter[Task] = Counter()
        self._failed_starts = 0
        self._worked = time.monotonic()  # when there was a grader
        self.judging: Mapping[str, str] = {}
        for _ in range(self.size):
            self._start()
        while not self.judging:
            self._step()

    def run(self) -> None:
        """Judge tasks until the channel is closed. Raises EOFError then, and ClusterLost."""
        while True:
            while self._channel.poll(None if self._is_done() else 0):
                self._queue.append(self._channel.recv())
            while self._idle and self._queue:
                actor, task = self._idle.pop(), self._queue.popleft()
                self._running[actor.judge.remote(task)] = actor, task
            self._step()

    def _is_done(self) -> bool:
        return not (self._queue or self._running or self._starting)

    def _step(self) -> None:
        """Wait for an answer, handle it, and send a sign of life."""
        self._require_graders()
        answers = [*self._starting, *self._running]
        for answer in self._ray.wait(answers, num_returns=1, timeout=POLL_SECONDS)[0] if answers else []:
            if answer in self._starting:
                self._finish_start(answer)
            else:
                self._finish_task(answer)
        self._channel.send(None)

    def _require_graders(self) -> None:
        """Raise ClusterLost if no grader works and none comes up."""
        now = time.monotonic()
        if self._idle or self._running:
            self._worked = now
        elif not self._starting:
            raise ClusterLost("every grader failed")
        elif now - self._worked > START_SECONDS:
            raise ClusterLost("no machine of it has room for a grader")

    def _start(self) -> None:
        actor = self._actor.remote(self._options, self._packed, grader.__version__)
        self._starting[actor.judging.remote()] = actor

    def _finish_start(self, answer: Any) -> None:
        """Use a grader that is ready; start another one for a grader that failed, but not for ever."""
        actor = self._starting.pop(answer)
        try:
            self.judging = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            if not self.judging and self._failed_starts >= self.size:
                raise _cause(error) from None
            if self._failed_starts < FAILED_STARTS:
                self._start()
        else:
            self._failed_starts = 0
            self._idle.append(actor)

    def _finish_task(self, answer: Any) -> None:
        """Send the verdict; a task whose grader was lost goes to another one."""
        actor, task = self._running.pop(answer)
        try:
            verdict: FileVerdict = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            self._start()
            self._losses[task] += 1
            if self._losses[task] < TRIES:
                self._queue.appendleft(task)
                return
            verdict = FileVerdict("error", 0, 0, "", fault=str(error).strip().splitlines()[-1])
        else:
            self._idle.append(actor)
        self._channel.send((task, verdict))


def _cause(error: Any) -> Exception:
    """Return the complaint of a grader that could not be opened."""
    causes = (error, getattr(error, "cause", None))
    cause = next((cause for cause in causes if isinstance(cause, COMPLAINTS)), None)
    text = str(error).strip().splitlines()[-1]
    return cause or CourseError(f"No grader could be started on the cluster: {text}")


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
    import ray

    return ray


def _require_ray() -> None:
    if find_spec("ray") is None:
        raise LibraryMissing(f"--engine ray needs Ray: {install_command('decoder-dojo[ray]')}")


def pack(options: GraderOptions) -> bytes:
    """Return a zip archive of the files that a grader needs."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in SENT_FOLDERS:
            for file in sorted((options.root / folder).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, f"{COURSE}/{file.relative_to(options.root)}")
        for name, path in ((KEY, options.settings.key), (SECRET, options.settings.secret)):
            if path is not None:
                archive.write(path, name)
    return packed.getvalue()


def unpacked(options: GraderOptions, packed: bytes, folder: Path) -> GraderOptions:
    """Unpack the course into the folder and return options that point to this copy."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    root = folder / COURSE
    given = options.settings
    settings = replace(given, key=given.key and folder / KEY, secret=given.secret and folder / SECRET)
    return replace(options, root=root, exercises=root / "exercises", settings=settings)
