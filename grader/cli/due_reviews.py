"""Say once a day which reviews are due."""

from __future__ import annotations

from datetime import date

from grader.course.catalog import Course
from grader.course.reviews import MISSED, is_due, review_day
from grader.course.state import CourseState
from grader.grading.choice import grades_count
from grader.plugins import has_command
from grader.texts.bounds import first_names

REVIEW = "grade.review"  # the command, of a package that can be left out


def due_line(course: Course, how: str) -> str:
    """Return which reviews are due and `how` to begin one, and remember that it was said; "" if none is due,
    if it was said today, or where grades count."""
    if grades_count(course.syllabus) or not has_command(REVIEW):
        return ""
    state, today = CourseState(course), date.today()
    known = state.katas()
    if any(kata.due_told == today.isoformat() for kata in known.values()):
        return ""
    names = [name for name in known if is_due(known[name], today)]
    katas = course.katas if names else {}  # to read them takes time
    due = [name for name, info in katas.items() if name in names and info.kind.is_code]
    if not due:
        return ""
    due.sort(key=lambda name: (known[name].reviewed != MISSED, review_day(known[name], today)))
    state.change(due[0], due_told=today.isoformat())
    return f"To review today: {first_names(due)}. {how}"
