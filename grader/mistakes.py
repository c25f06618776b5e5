"""What a file of mistakes imports: how far from right a mistake is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["crude", "subtle"]

#: How far from right a mistake can be: its decorator says it to whoever reads the file. Most are ordinary.
LEVELS = ("crude", "ordinary", "subtle")

Answer = TypeVar("Answer", bound=Callable[..., Any])


def crude(answer: Answer) -> Answer:
    """Mark a mistake as crude: it is far from right, and most cases show it.

        @crude
        def favours_the_smallest_score(x, axis=-1):
            ...

    Args:
        answer: The function or the class.

    Returns:
        The same function or class.
    """
    return answer


def subtle(answer: Answer) -> Answer:
    """Mark a mistake as subtle: it is right in most cases.

    Args:
        answer: The function or the class.

    Returns:
        The same function or class.
    """
    return answer
