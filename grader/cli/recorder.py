"""Grade files of a course and remember the outcomes."""

from __future__ import annotations

from pathlib import Path

from grader.course.catalog import Course, KataInfo
from grader.course.state import CourseState, KataState, file_digest
from grader.course.versions import BEST, Versions
from grader.grading.prerequisites import Needs
from grader.report import KataReport


class Recorder:
    """Remembers outcomes in the course's state, and copies of the best files beside it."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.state = CourseState(course)
        self.versions = Versions(self.state.folder)

    def grade(self, needs: Needs, info: KataInfo, path: Path) -> tuple[KataReport, KataState]:
        """Return the report of a file and what is now known of its kata. Nothing is remembered of another
        file than the course's, of one that was not judged, or of one that was saved meanwhile."""
        is_own = path == self.course.stub(info)
        digest = file_digest(info, path)
        report = needs.grade(info, path)
        before = self.state.kata(info.name)
        if not (is_own and report.checks and digest == file_digest(info, path)):
            return report, before
        if report.score and report.score >= before.best:
            self.versions.keep(BEST, info, path)
        return report, self.state.record(report, digest)
