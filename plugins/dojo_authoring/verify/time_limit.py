"""Stop the course's own code if it runs without an end, and name the line that it was running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dojo_authoring.verify.locations import files_of, place
from grader.course.catalog import Course, KataInfo
from grader.course.mistake_edits import read_edits
from grader.processes.limits import time_limit

LONGEST_STEP = (
    120.0  # seconds of CPU time for drawing the cases and asking the reference, and for each mistake
)


class TookTooLong(BaseException):
    """Code of the course did not end. It is a BaseException, so that no `except Exception` catches it."""


@contextmanager
def limited_time(course: Course, info: KataInfo) -> Iterator[None]:
    """Raise TookTooLong in the block after LONGEST seconds of CPU time; on Windows there is no limit."""

    def stop(frame: FrameType | None) -> None:
        said = f"this has run for {LONGEST_STEP:g} seconds of CPU time without an end"
        raise TookTooLong(f"{_place_of(course, info, frame)}: {said}; mend it, or draw smaller cases.")

    with time_limit(LONGEST_STEP, stop):
        yield


def _place_of(course: Course, info: KataInfo, frame: FrameType | None) -> str:
    """Return the innermost line of the kata's files that is running; of an edit, that of its name."""
    own = {str(path): (path, 0) for path in files_of(course, info)}
    own |= {mistake.filename: (mistake.path, mistake.line) for mistake in read_edits(course.edits(info))}
    while frame is not None:
        if frame.f_code.co_filename in own:
            path, line = own[frame.f_code.co_filename]
            return place(course, path, line or frame.f_lineno)
        frame = frame.f_back
    return place(course, info.path)
