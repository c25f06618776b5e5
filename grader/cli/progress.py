"""Show which katas are begun: the list of all katas and the welcome text."""

from __future__ import annotations

from pathlib import Path

from grader.course.catalog import Course, KataInfo, shorten
from grader.course.submission import Submission, SubmissionRejected, decoded, read_bytes


def is_begun(info: KataInfo, path: Path) -> bool:
    """Return whether a kata's file differs from its stub; True if it cannot be parsed as Python."""
    label = shorten(path)
    try:
        return Submission(info, decoded(read_bytes(path, label), label), label).touched
    except (SubmissionRejected, SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def kata_list(course: Course) -> str:
    """Return all katas in course order as text, with a mark on those that are begun."""
    lines, track = [], ""
    for info in course.katas.values():
        if info.track != track:
            track = info.track
            lines += ["", f"  {track}"]
        path = course.stub(info)
        mark = "▸" if path.exists() and is_begun(info, path) else "·"
        lines.append(f"    {mark} {info.name:<30}{info.marked_title}")
    return "\n".join(lines[1:]) + "\n\n  · not started   ▸ begun\n"


def welcome(course: Course, first: KataInfo) -> str:
    """Return the welcome text: the list of katas and the file to open first."""
    greeting = f"Welcome to {course.syllabus.title}. {course.syllabus.about}".rstrip()
    return (
        f"{greeting}\n\n"
        f"{kata_list(course)}\n"
        f"Start with {shorten(course.stub(first))}: its docstring is the statement.\n"
        f"Then run:  grade {first.name}      stuck?  grade --hint {first.name}\n"
    )
