"""What a file of mistakes imports: how far from right a mistake is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["crude", "subtle"]

#: How far from right a mistake can be. One without a decorator is ordinary.
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
    return _at("crude", answer)


def subtle(answer: Answer) -> Answer:
    """Mark a mistake as subtle: it is right in most cases.

    Args:
        answer: The function or the class.

    Returns:
        The same function or class.
    """
    return _at("subtle", answer)


def level_of(answer: Any) -> str:
    """Return the level of a mistake, one of LEVELS. A class does not inherit it.

    Args:
        answer: The function or the class.

    Returns:
        The level that its decorator says, or "ordinary".
    """
    return str(vars(answer).get(_MARK, "ordinary"))


_MARK = "_level_of_mistake"


def _at(level: str, answer: Answer) -> Answer:
    setattr(answer, _MARK, level)
    return answer
