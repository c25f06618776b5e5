"""Say which katas are due for a review, and when each comes again.

A kata comes 1, 3, 7 and 21 days after it has passed, as long as its reviews go well.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from grader.course.catalog import Course, KataInfo
from grader.course.reviews import MISSED, REVIEW_DAYS, review_day
from grader.course.state import CourseState, KataState


class ReviewOutcome(StrEnum):
    """How a review ended: when the line was found, or that it was not."""

    AT_ONCE = "found at first sight"
    CASE = "found after the case"
    HINT = "found after a hint"
    MISSED = MISSED


#: How many steps further the next review is. After a hint it comes again as soon as this one did.
STEPS = {ReviewOutcome.AT_ONCE: 2, ReviewOutcome.CASE: 1, ReviewOutcome.HINT: 0}
MOST_AFTER_PUZZLE = 1  # steps, where the kata was done with a puzzle


@dataclass(frozen=True)
class Due:
    """A kata that has passed, and the day of its next review; None after the last one."""

    info: KataInfo
    state: KataState
    day: date | None

    def is_due(self, today: date) -> bool:
        return self.day is not None and self.day <= today


def calendar(course: Course, today: date) -> list[Due]:
    """Return the katas that have passed: missed ones first, then in the order of their days and the course.
    Katas that are answered with constants have no code to review."""
    known = CourseState(course).katas()
    found = [
        Due(info, state, review_day(state, today))
        for info in course.katas.values()
        if (state := known.get(info.name, KataState())).has_passed and info.kind.is_code
    ]
    return sorted(found, key=lambda due: (due.state.reviewed != ReviewOutcome.MISSED, due.day or date.max))


def record(course: Course, name: str, outcome: ReviewOutcome, today: date) -> date | None:
    """Remember how a review ended, and return the day of the next one; None if it was the last."""
    state = CourseState(course)
    known = state.kata(name)
    most = MOST_AFTER_PUZZLE if known.puzzle else max(STEPS.values())
    reviews = max(known.reviews, 0) + min(STEPS[outcome], most) if outcome in STEPS else 0
    day = today + timedelta(days=REVIEW_DAYS[reviews]) if reviews < len(REVIEW_DAYS) else None
    state.change(
        name,
        reviews=min(reviews, len(REVIEW_DAYS)),
        review_on=day.isoformat() if day else "",
        reviewed=str(outcome),
    )
    return day


def in_words(day: date, today: date) -> str:
    """Return a day as it is said: today, tomorrow, or in so many days."""
    left = (day - today).days
    return "today" if left <= 0 else "tomorrow" if left == 1 else f"in {left} days"
