"""Which katas are begun, and the list of all katas that a student reads."""

from __future__ import annotations

from pathlib import Path

from grader.course.catalog import Course, KataInfo, shorten
from grader.course.submission import Submission, SubmissionRejected, decoded, read_bytes


def is_begun(info: KataInfo, path: Path) -> bool:
    """Whether anything was written into a kata's file; True where the file cannot be read as Python."""
    label = shorten(path)
    try:
        return Submission(info, decoded(read_bytes(path, label), label), label).touched
    except (SubmissionRejected, SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def board(course: Course) -> str:
    """All katas on their path, those begun marked."""
    lines, track = [], ""
    for info in course.katas.values():
        if info.track != track:
            track = info.track
            lines += ["", f"  {track}"]
        path = course.stub(info)
        mark = "▸" if path.exists() and is_begun(info, path) else "·"
        lines.append(f"    {mark} {info.name:<30}{info.title}")
    return "\n".join(lines[1:]) + "\n\n  · not started   ▸ begun\n"


def welcome(course: Course, first: KataInfo) -> str:
    """The board, and what to open first."""
    greeting = f"Welcome to {course.syllabus.title}. {course.syllabus.about}".rstrip()
    return (
        f"{greeting}\n\n"
        f"{board(course)}\n"
        f"Start with {shorten(course.stub(first))}: its docstring is the statement.\n"
        f"Then run:  grade {first.name}      stuck?  grade --hint {first.name}\n"
    )
