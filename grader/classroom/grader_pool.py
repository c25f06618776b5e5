"""The interface of grader pools: processes on this machine, or actors on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from grader.classroom.task import GraderOptions, Task, Verdict


class GraderPool(Protocol):
    """Several graders that work in parallel. `judging` holds the digest of the grading setup of each kata."""

    judging: Mapping[str, str]

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Verdict]]:
        """Yield verdicts in any order. A task is taken from the iterator only when a grader is free."""

    def close(self) -> None:
        """End all processes of the pool."""


def open_pool(name: str, options: GraderOptions, size: int = 0, address: str = "") -> GraderPool:
    """Open a `local` pool or a `ray` pool at an address; `size` graders, or one that suits the cores if 0."""
    if name == "ray":
        from grader.classroom.ray_pool import RayPool

        return RayPool(options, size, address)
    from grader.classroom.local_pool import LocalPool

    return LocalPool(options, size)
