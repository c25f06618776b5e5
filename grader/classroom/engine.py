"""Who judges: graders on this machine, or on a cluster. Both give the same verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from grader.classroom.task import GraderOptions, Task, Verdict


class Engine(Protocol):
    """Judges many submissions, several at a time. `judging` names by kata what judges now."""

    judging: Mapping[str, str]

    def judge(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Verdict]]:
        """Verdicts as they come, in any order. Tasks are taken as somebody is free, and few in advance."""

    def close(self) -> None:
        """End whatever was started."""


def open_engine(name: str, order: GraderOptions, size: int = 0, address: str = "") -> Engine:
    """`local`, or `ray` at an address. `size` is how many graders there are, 0 for what suits the cores."""
    if name == "ray":
        from grader.classroom.cluster import Cluster

        return Cluster(order, size, address)
    from grader.classroom.pool import Pool

    return Pool(order, size)
