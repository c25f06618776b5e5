"""Run a function for many katas at once, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TypeVar

from grader.course.catalog import Course, CourseError, KataInfo
from grader.grading.session import require_library
from grader.processes.pool import Lost, Pool

Result = TypeVar("Result")
LONGEST_KATA = 4 * 3600.0  # wall-clock seconds for one kata


def for_each(
    course: Course, infos: list[KataInfo], work: Callable[..., Result], *arguments: object, at_once: int = 0
) -> Iterator[tuple[KataInfo, Result]]:
    """Yield each kata with the result of `work(course, info, *arguments)`, at most `at_once` at a time.
    Without it, one more than there are cores. Raises what `work` raises, and CourseError for a kata whose
    process is lost twice, and LibraryMissing before any work if a kata needs PyTorch and it is not installed.

    NumPy katas come first; PyTorch is then imported once and shared by the forked processes.
    """
    require_library(infos, "cpu")
    for library in ("numpy", "torch"):
        group = [info for info in infos if info.library == library]
        if group and library == "torch":
            import torch  # noqa: F401  # shared by the processes that are forked below
        opens = partial(_opened, work, course, arguments, library)
        pool = Pool[KataInfo, Result](opens, at_once, seconds=LONGEST_KATA, forks=True)
        with closing(pool):
            # the longest references first, so that all cores stay busy
            results = pool.run(iter(sorted(group, key=lambda info: -_reference_size(course, info))))
            known: dict[str, Result | Lost] = {}
            for info in group:
                while info.name not in known:
                    done, result = next(results)
                    known[done.name] = result
                found = known.pop(info.name)
                if isinstance(found, Lost):
                    how = (
                        f"took more than {LONGEST_KATA:g} seconds"
                        if found.is_late
                        else f"ended ({found.code})"
                    )
                    raise CourseError(f"{info.name}: the process that worked on it {how}, twice.")
                yield info, found


def _reference_size(course: Course, info: KataInfo) -> int:
    reference = course.solution(info, "reference")
    return reference.stat().st_size if reference.is_file() else 0


@contextmanager
def _opened(
    work: Callable[..., Result], course: Course, arguments: tuple[object, ...], library: str
) -> Iterator[Callable[[KataInfo], Result]]:
    """Yield the function of one kata. It gets one PyTorch thread: inputs are small, and more threads slow
    each other down."""
    if library == "torch":
        import torch  # NumPy katas do not need it

        torch.set_num_threads(1)
    yield lambda info: work(course, info, *arguments)
