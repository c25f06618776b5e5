"""Grade files of a course with workers that stay open, each file after the katas that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from grader.course.catalog import Course, KataInfo
from grader.course.state import BEST, CourseState, Versions, file_digest
from grader.course.submission import SubmissionRejected
from grader.grading.grader import Graded, Grader
from grader.grading.startup import (
    DEFAULTS,
    GraderSettings,
    grade_file,
    lacks_library,
    open_grader,
    read_answer,
)
from grader.report import KataReport


class Session:
    """Grades files and remembers the outcomes. `file_of` returns the file of a needed kata; it is the file in
    the exercises if none is given."""

    def __init__(
        self, grader: Grader, file_of: Callable[[KataInfo], Path] | None = None, remembers: bool = True
    ) -> None:
        self.grader, self.course, self.remembers = grader, grader.course, remembers
        self.file_of = file_of or self.course.stub
        self.state = CourseState(self.course)
        self.versions = Versions(self.state.folder)
        self._passed: dict[tuple[str, tuple[int, int]], bool] = {}

    def grade(self, info: KataInfo, path: Path) -> Graded:
        """Grade a file and remember the outcome. Nothing is remembered of another file than the course's, of
        one that was not judged, or of one that was saved meanwhile. Raises Outdated."""
        digest = file_digest(info, path)
        graded = self._grade(info, path)
        is_own = self.remembers and path == self.course.stub(info)
        if is_own and graded.report.checks and digest == file_digest(info, path):
            self._remember(info, path, graded.report, digest)
        return graded

    def _remember(self, info: KataInfo, path: Path, report: KataReport, digest: str) -> None:
        known = self.state.kata(info.name)
        if report.score and report.score >= known.best:
            # without a known score, the one that is kept may be better
            self.versions.keep(BEST, info, path, keeps_old=not known.digest)
        self.state.record(report, digest)

    def _grade(self, info: KataInfo, path: Path) -> Graded:
        """Grade a file. If it is begun and a kata that it needs does not pass, it is `waiting`."""
        unmet = self._unmet(info) if info.needs and _is_gradable(info, path) else []
        if unmet:
            return Graded(waiting(info, unmet))
        graded = grade_file(self.grader, info, path)
        self._passed[info.name, version_of(path)] = graded.report.status == "passed"
        return graded

    def _unmet(self, info: KataInfo) -> list[str]:
        return [name for name in info.needs if not self._passes(self.course.kata_info(name))]

    def _passes(self, info: KataInfo) -> bool:
        """Return whether the current file of a needed kata passes. Each version of a file is graded once."""
        path = self.file_of(info)
        known = self._passed.get((info.name, version_of(path)))
        return self._grade(info, path).report.status == "passed" if known is None else known


@contextmanager
def open_session(
    course: Course,
    paths: list[tuple[KataInfo, Path]],
    remembers: bool = True,
    settings: GraderSettings = DEFAULTS,
) -> Iterator[Session]:
    """Yield a session for these files. A needed kata is read from the file given for it, or else from the
    exercises. Raises what `open_grader` raises."""
    given = {info.name: path for info, path in paths}
    grader, factories = open_grader(course, course.with_needs([info for info, _ in paths]), settings)
    with closing(factories):
        yield Session(grader, lambda info: given.get(info.name, course.stub(info)), remembers)


def waiting(info: KataInfo, unmet: list[str]) -> KataReport:
    """Return the report of a kata that is not judged because the katas in `unmet` do not pass."""
    message = f"Waiting for {' and '.join(f'`{name}`' for name in unmet)}, which must pass first."
    return info.unjudged("waiting", message)


def _is_gradable(info: KataInfo, path: Path) -> bool:
    try:
        submission = read_answer(info, path)
        return submission.begun and not lacks_library(submission)
    except SubmissionRejected:
        return False


def version_of(path: Path) -> tuple[int, int]:
    """Return what changes when a file is saved; zeros if there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
