"""Lay out one submission as a folder of exercises, with the choice of files that a class gets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dojo_classroom.best_files import answers_in, stubs_of
from dojo_classroom.found_files import files_below
from dojo_classroom.platform_filenames import KnownNames
from grader.course.catalog import Course, CourseError, shorten
from grader.course.submission import SubmissionRejected
from grader.texts.bounds import first_names

MOST_NOTES = 20


class LaidOut(NamedTuple):
    """A course with a submission's files as its exercises, notes about files, and by kata why what was handed
    in could not be read."""

    course: Course
    notes: list[str]
    unread: dict[str, str]


@contextmanager
def laid_out(course: Course, submission: Path) -> Iterator[LaidOut]:
    """Yield the course with the submission's files as its exercises.

    A kata that was not handed in is its stub. Raises CourseError if there is no submission.
    """
    if not submission.exists():
        raise CourseError(f"There is no submission {shorten(submission)}.")
    with tempfile.TemporaryDirectory(prefix="dojo-submission-") as folder:
        exercises = Path(folder) / "exercises"
        shutil.copytree(course.exercises, exercises)
        laid = Course(course.root, exercises)
        yield _fill(laid, submission)


def _fill(course: Course, submission: Path) -> LaidOut:
    """Put the submission's answers into the folder of exercises."""
    notes, unread = list[str](), dict[str, str]()
    paths = {name: course.stub(info) for name, info in course.katas.items()}
    texts = {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
    answers = answers_in(files_below(submission), KnownNames(course.katas), stubs_of(course.katas, texts))
    notes += answers.troubles
    for file in answers.files:
        path = course.stub(course.katas[file.kata])
        try:
            path.write_bytes(file.read())
        except SubmissionRejected as refused:
            path.unlink(missing_ok=True)
            notes.append(str(refused))
            unread[file.kata] = str(refused)
        if file.duplicates:
            notes.append(file.note)
    unclear = answers.troubles
    if answers.unrecognised:
        notes.append(f"Handed in, not recognised: {first_names(answers.unrecognised)}.")
        if not unclear and not answers.files:
            unclear = notes[-1:]
    missing = course.katas.keys() - {file.kata for file in answers.files}
    unread |= dict.fromkeys(missing, unclear[0]) if unclear else {}  # the answers may be there
    left = len(notes) - MOST_NOTES
    if left > 0:
        notes = [*notes[:MOST_NOTES], f"{left:,} more notes of this kind are left out."]
    return LaidOut(course, notes, unread)
