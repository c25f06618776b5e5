"""The options of a search for the place of a mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 2.0  # of CPU time of the grader and the workers


@dataclass(frozen=True)
class SearchOptions:
    """How to search: the CPU seconds, what to call with the number of candidates so far, and a function that
    returns whether the result is of no use any more."""

    seconds: float = SECONDS
    progress: Callable[[int], None] = lambda _: None
    is_outdated: Callable[[], bool] = lambda: False
