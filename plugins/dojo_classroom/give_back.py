"""Write everybody's page as the platform takes it back: zips for Moodle and Canvas, folders for the others.

Moodle's *Upload multiple feedback files in a zip* and Canvas's *Upload submissions* find a student by the
numbers in a file's name, so that these are those of the download. No file names another student.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from dojo_classroom.platform_filenames import WorkOrigin
from dojo_classroom.student_page import PAGES, page_name
from dojo_classroom.student_reports import StudentReport
from grader.course.files import Folder, replacing
from grader.formats import summary
from grader.texts.escaping import in_markdown

FOLDER, FILE = "feedback", "feedback.html"
FOLDERS = ("gradescope", "repositories")
NO_ATTACHMENT = (
    "Canvas attaches a page to a file that the student has uploaded. Send these pages by a message, as their"
    " students have uploaded none: {}."
)
SCRIPT = Path(__file__).parent / "templates" / "give_back.sh"


class Feedback:
    """The feedback of a run; its zips and folders are written anew."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        """`files` closes the zips. Raises OSError."""
        self.folder = folder / FOLDER
        for name in FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._files, self._zips = files, dict[str, zipfile.ZipFile]()
        self.left_out: list[str] = []  # pages that Canvas does not take
        self._add_to: dict[str, Callable[[WorkOrigin, StudentReport, str], None]] = {
            "moodle": self._moodle,
            "canvas": self._canvas,
            "gradescope": self._gradescope,
            "repository": self._repository,
        }

    def add(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        """Add the page of a student, if the platform takes one back. Raises OSError."""
        if add := self._add_to.get(submission.student.platform):
            add(submission, graded, page)

    def _moodle(self, submission: WorkOrigin, _: StudentReport, page: str) -> None:
        self._zip("moodle.zip").writestr(f"{submission.student.key}_assignfeedback_file_{FILE}", page)

    def _canvas(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        if not submission.upload:
            self.left_out.append(f"{PAGES}/{page_name(graded.member.id)}")
            return
        self._zip("canvas.zip").writestr(f"{submission.student.key}_{submission.upload}_{FILE}", page)

    def _gradescope(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        folder = submission.student.aliases[-1]  # as the metadata names it
        self._write("gradescope", folder, page_name(graded.member.id), data=page.encode())

    def _repository(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        folder = ("repositories", submission.student.key)
        self._write(*folder, FILE, data=page.encode())
        self._write(*folder, "feedback.md", data=_markdown(graded).encode())
        if not (self.folder / SCRIPT.name).exists():
            self._write(SCRIPT.name, data=SCRIPT.read_bytes())

    def _write(self, *parts: str, data: bytes) -> None:
        """Write a file below the folder of feedback, whose name may be a student's. Raises OSError."""
        with Folder(self.folder, makes=True) as folder:
            folder.write(*parts, data=data)

    def _zip(self, name: str) -> zipfile.ZipFile:
        if name not in self._zips:
            draft = self._files.enter_context(replacing(self.folder / name))
            self._zips[name] = self._files.enter_context(zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED))
        return self._zips[name]


def _markdown(graded: StudentReport) -> str:
    """Return the feedback as the text of an issue."""
    marks = graded.marks
    reasons = [
        f"- {name}: {in_markdown(' '.join(mark.reasons))}"
        for name, mark in marks.katas.items()
        if mark.reasons
    ]
    head = graded.headline
    if graded.unknown:
        head += ". This is not final: something of it was not judged yet."
    table = summary.render(graded.report, unknown=graded.unknown)
    return "\n\n".join(filter(None, [head, "\n".join(reasons), table]))
