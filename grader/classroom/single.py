"""Lay out one submission as a folder of exercises, with the choice of files that a class gets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.classroom.collector import answers_in, files_below
from grader.classroom.kata_names import KataNames
from grader.course.catalog import Course, CourseError, shorten
from grader.course.submission import SubmissionRejected
from grader.report_texts import listed

MOST_NOTES = 20


@contextmanager
def laid_out(course: Course, submission: Path) -> Iterator[tuple[Course, list[str]]]:
    """Yield the course with the submission's files as its exercises, and notes about files.

    A kata that was not handed in is its stub. Raises CourseError if there is no submission.
    """
    if not submission.exists():
        raise CourseError(f"There is no submission {shorten(submission)}.")
    with tempfile.TemporaryDirectory(prefix="dojo-submission-") as folder:
        exercises = Path(folder) / "exercises"
        shutil.copytree(course.exercises, exercises)
        laid = Course(course.root, exercises)
        yield laid, _fill(laid, submission)


def _fill(course: Course, submission: Path) -> list[str]:
    """Put the submission's answers into the folder of exercises; return the notes."""
    notes: list[str] = []
    stubs = {
        info.name: path.read_bytes()
        for info in course.katas.values()
        if (path := course.stub(info)).is_file()
    }
    answers = answers_in(files_below(submission), KataNames(course.katas), stubs)
    notes += answers.troubles
    for file in answers.files:
        path = course.stub(course.katas[file.kata])
        try:
            path.write_bytes(file.read())
        except SubmissionRejected as refused:
            path.unlink(missing_ok=True)
            notes.append(str(refused))
        if file.duplicates:
            notes.append(file.note)
    if answers.unrecognised:
        notes.append(f"Handed in, not recognised: {listed(answers.unrecognised)}.")
    left = len(notes) - MOST_NOTES
    return notes if left <= 0 else [*notes[:MOST_NOTES], f"{left:,} more notes of this kind are left out."]
