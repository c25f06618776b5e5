"""A pool of graders on the machines of a Ray cluster; each actor holds a local pool of one process.

The course is sent to every machine as one archive; the grader must be installed there. If a machine is lost,
Ray restarts its actors, on another machine if necessary, and repeats their calls.
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
from grader.classroom.local_pool import LocalPool
from grader.classroom.task import GraderOptions, Task, Verdict
from grader.course.catalog import CourseError
from grader.grading.startup import COMPLAINTS, LibraryMissing

SENT_FOLDERS = ("exercises", "tests/katas", "solutions", "keys")
COURSE, KEY, SECRET = "course", "the.key", "the.secret"


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

    def judge(self, task: Task) -> Verdict:
        ((_, verdict),) = self._pool.judge(iter([task]))
        return verdict


class RayPool:
    """Graders on a cluster. Raises what opening the first grader raises."""

    def __init__(self, options: GraderOptions, size: int = 0, address: str = "") -> None:
        self._ray = ray = _import_ray()
        try:
            own: dict[str, Any] = {} if address else {"include_dashboard": False}
            ray.init(address=address or None, log_to_driver=False, logging_level="error", **own)
        except Exception as error:  # Ray raises plain exceptions here too
            told = str(error).strip().partition("\n")[0]
            raise CourseError(f"No Ray cluster answers at {address or 'this machine'}: {told}") from None
        needs = {"num_cpus": 1, "num_gpus": int(options.device == "cuda")}
        actor = ray.remote(max_restarts=-1, max_task_retries=-1, **needs)(ClusterGrader)
        packed = ray.put(pack(options))
        have = ray.cluster_resources()
        size = size or max(1, int(have.get("GPU" if needs["num_gpus"] else "CPU", 1)))
        self._actors = [actor.remote(options, packed, grader.__version__) for _ in range(size)]
        self.judging: Mapping[str, str] = self._wait_until_ready(self._actors[0])

    def _wait_until_ready(self, actor: Any) -> Mapping[str, str]:
        """Return the actor's digests of the grading setup. Raises what opening its grader raised."""
        try:
            judging: Mapping[str, str] = self._ray.get(actor.judging.remote())
            return judging
        except self._ray.exceptions.RayError as error:
            self.close()
            causes = (error, getattr(error, "cause", None))
            cause = next((cause for cause in causes if isinstance(cause, COMPLAINTS)), None)
            told = str(error).strip().splitlines()[-1]
            raise cause or CourseError(f"No grader could be started on the cluster: {told}") from None

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Verdict]]:
        """Yield verdicts in any order; each grader has one task at a time.

        When no tasks are left, idle graders repeat tasks that are still running: the machine that runs one
        may be lost without a replacement. The first verdict counts.
        """
        running: dict[Any, tuple[Any, Task]] = {}
        for actor, task in zip(self._actors, tasks, strict=False):
            running[actor.judge.remote(task)] = actor, task
        while running:
            for finished in self._ray.wait(list(running), num_returns=1)[0]:
                actor, task = running.pop(finished)
                duplicates = [other for other, (_, same) in running.items() if same is task]
                verdict = self._verdict(finished)
                if not (verdict.fault and duplicates):
                    for duplicate in duplicates:
                        del running[duplicate]
                    yield task, verdict
                following = next(tasks, None) or _running_once(running)
                if following is not None:
                    running[actor.judge.remote(following)] = actor, following

    def _verdict(self, answer: Any) -> Verdict:
        try:
            verdict: Verdict = self._ray.get(answer)
            return verdict
        except self._ray.exceptions.RayError as error:
            return Verdict("error", 0, 0, "", fault=str(error).strip().splitlines()[-1])

    def close(self) -> None:
        """Disconnect from the cluster, which ends the actors."""
        self._ray.shutdown()


def _running_once(running: dict[Any, tuple[Any, Task]]) -> Task | None:
    """Return a task that only one grader works on, or None."""
    tasks = [task for _, task in running.values()]
    return next((task for task in tasks if sum(task is other for other in tasks) == 1), None)


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
    try:
        import ray
    except ModuleNotFoundError:
        raise LibraryMissing("--engine ray needs Ray: pip install 'decoder-dojo[ray]'.") from None
    return ray


def pack(options: GraderOptions) -> bytes:
    """Return a zip archive of the files that a grader needs."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in SENT_FOLDERS:
            for file in sorted((options.root / folder).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, f"{COURSE}/{file.relative_to(options.root)}")
        for name, path in ((KEY, options.key), (SECRET, options.secret)):
            if path is not None:
                archive.write(path, name)
    return packed.getvalue()


def unpacked(options: GraderOptions, packed: bytes, folder: Path) -> GraderOptions:
    """Unpack the course into the folder and return options that point to this copy."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    root = folder / COURSE
    key, secret = options.key and folder / KEY, options.secret and folder / SECRET
    return replace(options, root=root, exercises=root / "exercises", key=key, secret=secret)
