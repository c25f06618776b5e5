"""Run a function for many katas at once, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from grader.course.catalog import Course, KataInfo

Result = TypeVar("Result")


def for_each(
    course: Course, infos: list[KataInfo], work: Callable[..., Result], *arguments: object, at_once: int = 0
) -> Iterator[tuple[KataInfo, Result]]:
    """Yield each kata with the result of `work(course, info, *arguments)`, at most `at_once` at a time.
    Without it, one more than there are cores: each waits for a worker now and then.

    NumPy katas come first; PyTorch is then imported once and shared by the forked processes.
    """
    for library in ("numpy", "torch"):
        group = [info for info in infos if info.library == library]
        if group and library == "torch":
            import torch  # noqa: F401  # shared by the processes that are forked below
        if group:
            yield from _group(course, group, work, arguments, at_once or (os.cpu_count() or 1) + 1)


def _group(
    course: Course,
    infos: list[KataInfo],
    work: Callable[..., Result],
    arguments: tuple[object, ...],
    at_once: int,
) -> Iterator[tuple[KataInfo, Result]]:
    """Run one library's katas; start with the longest references, so that all cores stay busy."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    longest_first = sorted(infos, key=lambda info: -_reference_size(course, info))
    with context.Pool(at_once, maxtasksperchild=1) as pool:
        jobs = {
            info.name: pool.apply_async(_run_in_one_thread, (work, course, info, *arguments))
            for info in longest_first
        }
        for info in infos:
            yield info, jobs[info.name].get()


def _reference_size(course: Course, info: KataInfo) -> int:
    reference = course.solution(info, "reference")
    return reference.stat().st_size if reference.is_file() else 0


def _run_in_one_thread(
    work: Callable[..., Result], course: Course, info: KataInfo, *arguments: object
) -> Result:
    """Run the function with one PyTorch thread: inputs are small, and more threads slow each other down."""
    if info.library == "torch":
        import torch  # NumPy katas do not need it

        torch.set_num_threads(1)
    return work(course, info, *arguments)
