"""What a run over a class counts and notes, and what failed through a fault of the grader."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dojo_classroom.platform_filenames import WorkOrigin
from dojo_classroom.times import HandedIn
from grader.course.catalog import CourseError
from grader.texts.escaping import one_line

MOST_NOTES = 20
FAILED = "{}: {} failed through a fault of the grader, which costs no points: {}."


@dataclass
class RunCounts:
    """The counts and notes of a run, which are printed at its end.

    `unrecognised` and `late` hold, by student, the files that answer no kata and the katas handed in late,
    `troubles` why answers could not be looked for. `times` says when each kata was handed in, `versions`
    which version of it counts, `submissions` where a student's work came from, and `unclear` whose submission
    could not be told from another's. `failed` are sentences on what failed through a fault of the grader.
    """

    students: int = 0
    judged: int = 0
    known: int = 0
    absent: int = 0
    unlisted: int = 0
    faults: int = 0
    notes: list[str] = field(default_factory=list)
    omitted_notes: int = 0
    unrecognised: dict[str, list[str]] = field(default_factory=dict)
    late: dict[str, list[str]] = field(default_factory=dict)
    unclear: dict[str, str] = field(default_factory=dict)
    troubles: dict[str, list[str]] = field(default_factory=dict)
    times: dict[str, dict[str, HandedIn]] = field(default_factory=dict)
    versions: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    submissions: dict[str, WorkOrigin] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def all_notes(self) -> list[str]:
        """The faults, the notes, and how many were left out."""
        return [
            *self.failed,
            *self.notes,
            *([f"{self.omitted_notes:,} more of these"] if self.omitted_notes else []),
        ]

    def note(self, text: str) -> None:
        """Add a sentence for the instructor; after the first few, notes are only counted."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text)
        else:
            self.omitted_notes += 1

    @contextmanager
    def net(
        self, whom: str, what: str, passes: tuple[type[Exception], ...] = (CourseError,)
    ) -> Iterator[None]:
        """Let a fault of the grader in the block cost what the block does and nothing else: `failed` says
        what it was, and for whom. What `passes` is no fault of the grader, such as a full disk."""
        try:
            yield
        except passes:
            raise
        except Exception as error:
            if os.environ.get("DOJO_DEBUG"):
                raise
            text = FAILED.format(whom, what, without_stop(f"{type(error).__name__}: {error}"))
            self.failed += [text] if text not in self.failed else []


def without_stop(text: str) -> str:
    """Return an error as a part of a sentence: in one line, and without the full stop of its own."""
    return one_line(text, 200).rstrip(".")
