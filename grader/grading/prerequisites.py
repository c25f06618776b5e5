"""Grade katas that need others: a kata is not judged until every kata that it needs passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.course.catalog import Course, KataInfo
from grader.course.submission import SubmissionRejected
from grader.grading.grader import Grader
from grader.grading.startup import grade_file, lacks_library, open_grader, read_answer
from grader.kata import KataError
from grader.report import KataReport
from grader.worker.fork_server import WorkerFactories


def with_needs(course: Course, infos: list[KataInfo]) -> list[KataInfo]:
    """Return the katas and all that they need, directly or indirectly. Raises KataError if a needed kata does
    not exist or the needs form a circle."""
    found = {info.name: info for info in infos}
    for info in infos:
        _collect(course, info, (), found)
    return list(found.values())


def _collect(course: Course, info: KataInfo, through: tuple[str, ...], found: dict[str, KataInfo]) -> None:
    if info.name in through:
        circle = " needs ".join(f"`{name}`" for name in (*through[through.index(info.name) :], info.name))
        raise KataError(f"{circle}: nobody could begin; take one of these needs out.")
    for name in info.needs:
        if name not in found and name not in course.katas:
            raise KataError(f"`{info.name}` needs `{name}`, and there is no such kata.")
        needed = found.setdefault(name, course.kata_info(name))
        _collect(course, needed, (*through, info.name), found)


def waiting(info: KataInfo, unmet: list[str]) -> KataReport:
    """Return the report of a kata that is not judged because the katas in `unmet` do not pass."""
    message = f"Waiting for {' and '.join(f'`{name}`' for name in unmet)}, which must pass first."
    return info.unjudged("waiting", message)


class Needs:
    """Grades files after the katas that they need. `file_of` returns the path of a needed kata's file."""

    def __init__(self, grader: Grader, file_of: Callable[[KataInfo], Path]) -> None:
        self.grader, self.file_of = grader, file_of
        self._passed: dict[tuple[str, tuple[int, int]], bool] = {}

    def grade(self, info: KataInfo, path: Path) -> KataReport:
        """Return the report of one file. Its status is `waiting` if the file is begun and a kata that it
        needs does not pass."""
        unmet = self._unmet(info) if info.needs and _is_gradable(info, path) else []
        if unmet:
            return waiting(info, unmet)
        report = grade_file(self.grader, info, path)
        self._passed[info.name, _version(path)] = report.status == "passed"
        return report

    def _unmet(self, info: KataInfo) -> list[str]:
        return [name for name in info.needs if not self._passes(self.grader.course.kata_info(name))]

    def _passes(self, info: KataInfo) -> bool:
        """True if the current file of a needed kata passes. Each version of a file is graded once."""
        path = self.file_of(info)
        known = self._passed.get((info.name, _version(path)))
        return self.grade(info, path).status == "passed" if known is None else known


def open_needs(
    course: Course, paths: list[tuple[KataInfo, Path]], **terms: Any
) -> tuple[Needs, WorkerFactories]:
    """Return a grader of these files, and its worker factories, which the caller closes. A needed kata is
    read from the file given for it, or else from the exercises. Raises what `open_grader` raises."""
    given = {info.name: path for info, path in paths}
    grader, source = open_grader(course, with_needs(course, [info for info, _ in paths]), **terms)
    return Needs(grader, lambda info: given.get(info.name, course.stub(info))), source


def _is_gradable(info: KataInfo, path: Path) -> bool:
    try:
        return not lacks_library(info) and read_answer(info, path).begun
    except SubmissionRejected:
        return False


def _version(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
