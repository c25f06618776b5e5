"""Graders on the machines of a Ray cluster. Each is a process of the pool's, held by an actor where it runs.

The course travels to every machine as one archive; the grader itself must be installed there. Ray starts
an actor anew, elsewhere if it must, when its machine is lost, and asks it again what it had been asked.
"""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import grader
from grader.classroom.pool import Pool
from grader.classroom.task import GraderOptions, Task, Verdict
from grader.course.catalog import CourseError
from grader.grading.startup import COMPLAINTS, LibraryMissing

TRAVELS = ("exercises", "tests/katas", "solutions", "keys")
COURSE, KEY, SECRET = "course", "the.key", "the.secret"


class ClusterGrader:
    """What an actor is: one grader, where the actor runs, on a copy of the course."""

    def __init__(self, order: GraderOptions, packed: bytes, version: str) -> None:
        if version != grader.__version__:
            raise CourseError(
                f"A machine of the cluster has grader {grader.__version__}, this one {version}."
            )
        self._folder = tempfile.TemporaryDirectory(prefix="dojo-course-")  # only this user may enter
        self._pool = Pool(unpacked(order, packed, Path(self._folder.name)), size=1)

    def judging(self) -> Mapping[str, str]:
        return self._pool.judging

    def judge(self, task: Task) -> Verdict:
        ((_, verdict),) = self._pool.judge(iter([task]))
        return verdict


class Cluster:
    """Graders on a cluster. Raises what opening the first one raises."""

    def __init__(self, order: GraderOptions, size: int = 0, address: str = "") -> None:
        self._ray = ray = _import_ray()
        try:
            own: dict[str, Any] = {} if address else {"include_dashboard": False}
            ray.init(address=address or None, log_to_driver=False, logging_level="error", **own)
        except Exception as error:  # of what Ray raises here some has no class of its own
            told = str(error).strip().partition("\n")[0]
            raise CourseError(f"No Ray cluster answers at {address or 'this machine'}: {told}") from None
        needs = {"num_cpus": 1, "num_gpus": int(order.device == "cuda")}
        actor = ray.remote(max_restarts=-1, max_task_retries=-1, **needs)(ClusterGrader)
        packed = ray.put(pack(order))
        have = ray.cluster_resources()
        size = size or max(1, int(have.get("GPU" if needs["num_gpus"] else "CPU", 1)))
        self._seats = [actor.remote(order, packed, grader.__version__) for _ in range(size)]
        self.judging: Mapping[str, str] = self._greeted(self._seats[0])

    def _greeted(self, seat: Any) -> Mapping[str, str]:
        try:
            greeting: Mapping[str, str] = self._ray.get(seat.judging.remote())
            return greeting
        except self._ray.exceptions.RayError as error:
            self.close()
            causes = (error, getattr(error, "cause", None))
            cause = next((cause for cause in causes if isinstance(cause, COMPLAINTS)), None)
            told = str(error).strip().splitlines()[-1]
            raise cause or CourseError(f"No grader could be started on the cluster: {told}") from None

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Verdict]]:
        """Verdicts as they come; each grader has one task, and is given the next when it is done. At the
        end those who are idle judge what others still hold: a machine may be gone, and none replace it."""
        held: dict[Any, tuple[Any, Task]] = {}
        for seat, task in zip(self._seats, tasks, strict=False):
            held[seat.judge.remote(task)] = seat, task
        while held:
            for answer in self._ray.wait(list(held), num_returns=1)[0]:
                seat, task = held.pop(answer)
                twins = [other for other, (_, same) in held.items() if same is task]
                verdict = self._verdict(answer)
                if not (verdict.fault and twins):
                    for twin in twins:
                        del held[twin]
                    yield task, verdict
                following = next(tasks, None) or _held_once(held)
                if following is not None:
                    held[seat.judge.remote(following)] = seat, following

    def _verdict(self, answer: Any) -> Verdict:
        try:
            verdict: Verdict = self._ray.get(answer)
            return verdict
        except self._ray.exceptions.RayError as error:
            return Verdict("error", 0, 0, "", fault=str(error).strip().splitlines()[-1])

    def close(self) -> None:
        """Leave the cluster; the actors end with this."""
        self._ray.shutdown()


def _held_once(held: dict[Any, tuple[Any, Task]]) -> Task | None:
    """A task that one grader has and no other."""
    tasks = [task for _, task in held.values()]
    return next((task for task in tasks if sum(task is other for other in tasks) == 1), None)


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a class is nobody else's business
    try:
        import ray
    except ModuleNotFoundError:
        raise LibraryMissing("--engine ray needs Ray: pip install 'decoder-dojo[ray]'.") from None
    return ray


def pack(order: GraderOptions) -> bytes:
    """What a grader needs of the course, as one archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in TRAVELS:
            for file in sorted((order.root / folder).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, f"{COURSE}/{file.relative_to(order.root)}")
        for name, path in ((KEY, order.key), (SECRET, order.secret)):
            if path is not None:
                archive.write(path, name)
    return packed.getvalue()


def unpacked(order: GraderOptions, packed: bytes, folder: Path) -> GraderOptions:
    """The same order for the copy of the course in this folder."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    root = folder / COURSE
    key, secret = order.key and folder / KEY, order.secret and folder / SECRET
    return replace(order, root=root, exercises=root / "exercises", key=key, secret=secret)
