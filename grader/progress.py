"""Which katas are begun, and the list of all katas that a student reads."""

from __future__ import annotations

from pathlib import Path

from grader.catalog import Card, Course, shorten
from grader.submission import Refused, Submission, decoded, read_bytes


def is_begun(card: Card, path: Path) -> bool:
    """Whether anything was written into a kata's file; True where the file cannot be read as Python."""
    label = shorten(path)
    try:
        return Submission(card, decoded(read_bytes(path, label), label), label).touched
    except (Refused, SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def board(course: Course) -> str:
    """All katas on their path, those begun marked."""
    lines, track = [], ""
    for card in course.cards.values():
        if card.track != track:
            track = card.track
            lines += ["", f"  {track}"]
        path = course.stub(card)
        mark = "▸" if path.exists() and is_begun(card, path) else "·"
        lines.append(f"    {mark} {card.name:<30}{card.title}")
    return "\n".join(lines[1:]) + "\n\n  · not started   ▸ begun\n"


def welcome(course: Course, first: Card) -> str:
    """The board, and what to open first."""
    greeting = f"Welcome to {course.syllabus.title}. {course.syllabus.about}".rstrip()
    return (
        f"{greeting}\n\n"
        f"{board(course)}\n"
        f"Start with {shorten(course.stub(first))}: its docstring is the statement.\n"
        f"Then run:  grade {first.name}      stuck?  grade --hint {first.name}\n"
    )
