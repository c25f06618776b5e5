"""A worker that loads the candidates of a search, and the time that the search has."""

from __future__ import annotations

import time

from grader.checks.context import CheckContext, PreparedKata
from grader.course.submission import Submission, forbidden_names
from grader.diagnosis.search_options import SearchOptions
from grader.worker.client import Budget, RemoteStudent
from grader.worker.fork_server import WorkerFactory
from grader.worker.process import Process

WALL_FACTOR = 2  # wall time of a search, as a multiple of its CPU time
CALL_SECONDS = 0.25  # CPU time of one call of a candidate
START_SECONDS = 10.0


class Clock:
    """The CPU time of this process and the workers of one search, and its wall time."""

    def __init__(self, options: SearchOptions) -> None:
        self.options = options
        self.processes: list[Process] = []  # the workers that are running
        self._began, self._wall, self._workers = time.process_time(), time.monotonic(), 0.0
        self.limit = options.seconds

    @property
    def spent(self) -> float:
        running = sum(process.usage().cpu for process in self.processes)
        return time.process_time() - self._began + self._workers + running

    def is_over(self) -> bool:
        """Return whether the search has to end now."""
        late = time.monotonic() - self._wall > WALL_FACTOR * self.options.seconds
        return late or self.spent > self.limit or self.options.is_outdated()

    def begin_again(self) -> None:
        """Give the search its time once more."""
        self.limit, self._wall = self.spent + self.options.seconds, time.monotonic()

    def stop(self, process: Process) -> None:
        """Kill a worker, and keep its CPU time."""
        self._workers += process.usage().cpu
        self.processes.remove(process)
        process.kill()


class Trial:
    """A worker that has loaded a source, and loads candidates. Raises SubmissionFailed, WorkerLost."""

    def __init__(
        self,
        prepared: PreparedKata,
        submission: Submission,
        factory: WorkerFactory,
        device: str,
        clock: Clock,
        source: str,
    ) -> None:
        self.prepared, self.submission, self.clock = prepared, submission, clock
        self.process = factory.start(device)
        clock.processes.append(self.process)
        budget = Budget(is_outdated=clock.is_over)
        self.student = RemoteStudent(self.process, CALL_SECONDS, budget, submission.exchange)
        try:
            self.student.greeting(START_SECONDS)
            self.context = self.load(source)
        except BaseException:
            self.close()
            raise

    def load(self, source: str, recorder: str = "") -> CheckContext:
        """Load a candidate; `recorder` names what records in it. Raises SubmissionFailed, WorkerLost."""
        kata = self.prepared.kata
        self.student.load(
            kata.name,
            CALL_SECONDS,
            filename=self.submission.filename,
            source=source,
            entry_points=list(kata.entry_points),
            forbidden=forbidden_names(kata),
            recorder=recorder,
        )
        return CheckContext(kata, self.prepared.oracle, self.student)

    def close(self) -> None:
        self.clock.stop(self.process)
