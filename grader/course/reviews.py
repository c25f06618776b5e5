"""Say when the review of a kata that has passed is due, by what is remembered of it."""

from __future__ import annotations

from datetime import date, timedelta

from grader.course.state import KataState

REVIEW_DAYS = (1, 3, 7, 21)  # until the next review, by how many went well
MISSED = "not found"  # how a review ended that did not find the line


def review_day(state: KataState, today: date) -> date | None:
    """Return the day of the next review of a kata that has passed; None after the last one. A day that is not
    readable, or further ahead than any review is, comes from a damaged file or a wrong clock: then the review
    is due."""
    if state.reviews >= len(REVIEW_DAYS):
        return None
    last = today + timedelta(days=REVIEW_DAYS[-1])
    passed, due = _parsed(state.passed_on), _parsed(state.review_on)
    day = due or (passed and min(passed, last) + timedelta(days=REVIEW_DAYS[0])) or today
    return today if day > last else day


def is_due(state: KataState, today: date) -> bool:
    """Return whether a kata has passed and its review is due."""
    day = review_day(state, today) if state.has_passed else None
    return day is not None and day <= today


def _parsed(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
