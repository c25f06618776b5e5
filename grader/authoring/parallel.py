"""Work on many katas, each in a process of its own, as many at a time as there are cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from grader.course.catalog import Course, KataInfo

Found = TypeVar("Found")


def for_each(
    course: Course, infos: list[KataInfo], work: Callable[..., Found], *arguments: object, at_once: int = 0
) -> Iterator[tuple[KataInfo, Found]]:
    """Yield each kata with what `work(course, info, *arguments)` returns. NumPy's come first, in their order;
    PyTorch is imported once for all that follow. At most `at_once` run at a time, if that is given."""
    for library in ("numpy", "torch"):
        group = [info for info in infos if info.library == library]
        if group and library == "torch":
            import torch  # noqa: F401  # the processes forked from here on have it
        if group:
            yield from _group(course, group, work, arguments, at_once or os.cpu_count())


def _group(
    course: Course,
    infos: list[KataInfo],
    work: Callable[..., Found],
    arguments: tuple[object, ...],
    at_once: int | None,
) -> Iterator[tuple[KataInfo, Found]]:
    """Those with the longest references are begun first: two cores should come to their end together."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    longest_first = sorted(infos, key=lambda info: -_length(course, info))
    with context.Pool(at_once, maxtasksperchild=1) as pool:
        jobs = {
            info.name: pool.apply_async(_alone, (work, course, info, *arguments)) for info in longest_first
        }
        for info in infos:
            yield info, jobs[info.name].get()


def _length(course: Course, info: KataInfo) -> int:
    reference = course.solution(info, "reference")
    return reference.stat().st_size if reference.is_file() else 0


def _alone(work: Callable[..., Found], course: Course, info: KataInfo, *arguments: object) -> Found:
    """One thread a process: the inputs are small, and threads of two processes wait for each other."""
    if info.library == "torch":
        import torch  # a NumPy kata is worked on without it

        torch.set_num_threads(1)
    return work(course, info, *arguments)
