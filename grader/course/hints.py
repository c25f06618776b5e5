"""Show a kata's hints one at a time; the course's state holds how many were shown."""

from __future__ import annotations

from collections.abc import Callable

from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import text_of
from grader.course.state import CourseState, KataState
from grader.course.submission import library_of
from grader.course.torch_words import text_in_torch
from grader.plugins import PARTS_GROUP, load


def next_hint(course: Course, info: KataInfo, again: str = "grade hint", puzzle: str = "grade puzzle") -> str:
    """Return a hint with its number and the command for the next one: first the hint that speaks of the
    mistake in the file, once, then the one after those shown in order. After the last one it says so, and
    begins again. Where the hints were not enough, the command for a puzzle follows."""
    text = _next_hint(course, info, again)
    if puzzle and has_puzzle(course, info):
        text += f"\n\nNot enough? Put the lines in order:  {puzzle} {info.name}"
    return text


def _next_hint(course: Course, info: KataInfo, again: str) -> str:
    if not info.hints:
        return f"{info.name} has no hints: its statement says it all."
    state = CourseState(course)
    known = state.kata(info.name)
    number = next_number(info, known)
    if not number:
        state.change(info.name, hints=0, helped=known.most_hints)
        total = len(info.hints)
        shown = f"all {total} hints" if total > 1 else "the only hint"
        return f"You have seen {shown} of {info.name}. The first comes next."
    if _speaks_of_mistake(info, known):
        seen = number if number == known.hints + 1 else known.hints  # so that it is not shown twice in a row
        hints, hinted = seen, known.mistake
    else:
        hints, hinted = number, known.hinted
    helped = known.most_hints if known.has_passed else max(hints, known.most_hints)
    state.change(info.name, hints=hints, hinted=hinted, helped=helped, hint_digest=known.digest)
    more = "" if number == len(info.hints) or not again else f"\n\nOne more:  {again} {info.name}"
    text = info.hints[number - 1]
    if library_of(info, text_of(course.stub(info))) != info.library:
        text = text_in_torch(text)
    return f"Hint {number} of {len(info.hints)}: {text}{more}"


def next_number(info: KataInfo, known: KataState) -> int:
    """Return the number of the hint that comes next, from 1; 0 after the last."""
    if _speaks_of_mistake(info, known):
        return info.hint_for[known.mistake]
    return known.hints + 1 if known.hints < len(info.hints) else 0


def _speaks_of_mistake(info: KataInfo, known: KataState) -> bool:
    """Return whether a hint speaks of the mistake that was named last and was not shown for it yet."""
    return known.mistake in info.hint_for and known.mistake != known.hinted


def has_puzzle(course: Course, info: KataInfo) -> bool:
    """Return whether a kata's puzzle may be shown now: after the last hint and a try of one's own."""
    try:
        found: Callable[[Course, KataInfo], bool] = load(PARTS_GROUP, "has_puzzle", "a puzzle")
    except (CourseError, KeyError):  # it was left out, as in a browser, or came after the last `make install`
        return False
    return found(course, info)
