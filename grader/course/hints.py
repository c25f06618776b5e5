"""Show a kata's hints one at a time; the course's state holds how many were shown."""

from __future__ import annotations

from grader.course.catalog import Course, KataInfo
from grader.course.state import CourseState


def next_hint(course: Course, info: KataInfo, again: str = "grade --hint") -> str:
    """Return the hint after the one shown last, with its number and the command for the next one. After the
    last hint comes the first again."""
    if not info.hints:
        return f"{info.name} has no hints: its statement says it all."
    state = CourseState(course)
    number = state.kata(info.name).hints % len(info.hints)
    state.change(info.name, hints=number + 1)
    more = "" if number + 1 == len(info.hints) or not again else f"\n\nOne more:  {again} {info.name}"
    return f"Hint {number + 1} of {len(info.hints)}: {info.hints[number]}{more}"
