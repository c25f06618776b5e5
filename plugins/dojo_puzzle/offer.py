"""Say whether a kata's puzzle may be shown now, and remember that it was."""

from __future__ import annotations

from dojo_puzzle.puzzle import NoPuzzle, Puzzle, make
from grader.course.catalog import Course, CourseError, KataInfo, is_release
from grader.course.files import from_here
from grader.course.state import CourseState, KataState
from grader.course.syllabus import SYLLABUS_FILE
from grader.errors import KataError


def puzzle_of(course: Course, info: KataInfo) -> Puzzle:
    """Return the puzzle of a kata that may be shown now. Raises NoPuzzle, and KataError if a known mistake
    does not apply."""
    known = CourseState(course).kata(info.name)
    if reason := _reason_of_course(course, info):
        raise NoPuzzle(reason)
    puzzle = make(course, info, known.puzzle or known.mistakes)
    _require_time(course, info, known)
    return puzzle


def shown_puzzle(course: Course, info: KataInfo) -> Puzzle:
    """Return the puzzle of a kata and remember that it was shown: from now on it is the same one. Raises
    NoPuzzle and KataError."""
    puzzle = puzzle_of(course, info)
    CourseState(course).change(info.name, puzzle=list(puzzle.mistakes))
    return puzzle


def has_puzzle(course: Course, info: KataInfo) -> bool:
    """Return whether the puzzle of a kata may be shown now."""
    try:
        puzzle_of(course, info)
    except (CourseError, KataError):
        return False
    return True


def _reason_of_course(course: Course, info: KataInfo) -> str:
    """Return why the course shows no puzzle of a kata; "" if it may. A student's copy has none, whatever
    solutions lie in it, and neither has a wheel: what they hold is shown after a pass."""
    if not course.syllabus.puzzles:
        return f"This course has no puzzles: {SYLLABUS_FILE.as_posix()} says puzzles = false"
    if is_release(course.root) or (info.kind.is_code and not course.solution(info, "reference").is_file()):
        return f"There is no puzzle of {info.name} here: this course keeps its solutions to itself"
    return ""


def _require_time(course: Course, info: KataInfo, known: KataState) -> None:
    """Raise NoPuzzle if it is too early or too late for a puzzle."""
    if known.has_passed:
        raise NoPuzzle(
            f"{info.name} has passed, so its reference can be shown", f"grade solution {info.name}"
        )
    if known.most_hints < len(info.hints):
        raise NoPuzzle("A puzzle comes after the last hint", f"grade hint {info.name}")
    if not known.failed_after_hint and not _failed_since(known):
        file = from_here(course.stub(info))
        raise NoPuzzle(f"A puzzle comes after a try of your own in {file}", f"grade {info.name}")


def _failed_since(known: KataState) -> bool:
    """Return whether another version than at the last hint was judged, as an older grader has kept it."""
    return bool(known.digest) and known.digest != known.hint_digest
