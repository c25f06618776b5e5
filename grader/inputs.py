"""Judge inputs that tell a wrong function from a right one, for katas of the kind `inputs`.

The functions stand in the declaration, so that every release has them. They get an input only after it was
found to be small and allowed, and no code of a submission's: what comes from its worker are numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Versions"]

NUMBER = (bool, int, float)
LARGEST = 10**6  # of a number, so that no function works long


@dataclass(frozen=True)
class Versions:
    """A right function, wrong ones, and what all of them may get.

    Attributes:
        right: The right function. Its parameters are the arguments of an input; lists arrive as arrays.
        wrong: The wrong functions, by the name of the constant whose input has to show each.
        allowed: Called with the arguments by name. It returns what is not allowed about them as a sentence,
            or "" if they are what the statement allows.
        most: How many numbers an input may have.
        close: How far results may be apart and count as the same, relative to the largest number.

    Example:
        VERSIONS = Versions(right=double, wrong={"NEGATIVE": doubled_size}, allowed=small_numbers)
        KATA.judges(VERSIONS.complaint)
    """

    right: Callable[..., Any]
    wrong: Mapping[str, Callable[..., Any]]
    allowed: Callable[..., str]
    most: int = 12
    close: float = 1e-6

    def complaint(self, name: str, value: Any) -> str:
        """Say why an input does not tell the wrong function from the right one.

        Args:
            name: The name of the constant.
            value: Its value: a dict of arguments by name, in which lists are tuples.

        Returns:
            A sentence; "" if the two differ on the input.

        Example:
            assert VERSIONS.complaint("NEGATIVE", {"x": (-1.0,)}) == ""
        """
        from grader.values.formatting import show  # imports NumPy

        if wrong := self._of_form(name, value):
            return wrong
        arguments, problem = _as_arrays(value)
        if problem := problem or self.allowed(**arguments):
            return f"{name}: {problem}"
        right, wrong = (_result(function, arguments) for function in (self.right, self.wrong[name]))
        return f"{name}: both give {show(right)}." if _is_same(right, wrong, self.close) else ""

    def _of_form(self, name: str, value: Any) -> str:
        """Return why a value is no small input; "" if it is one."""
        from grader.values.constants import EMPTY

        if getattr(value, "type_name", "") == EMPTY:
            return f"{name} has no input yet."
        parameters = list(inspect.signature(self.right).parameters)
        if type(value) is not dict or set(value) != set(parameters):
            shown = ", ".join(f'"{one}": …' for one in parameters)
            return f"{name} must be a dict of the arguments: {{{shown}}}."
        numbers = list(_leaves(value))
        if not all(type(number) in NUMBER and abs(number) <= LARGEST for number in numbers):
            return f"{name} must hold numbers and lists of numbers up to {LARGEST:,}, and nothing else."
        if len(numbers) > self.most:
            return f"{name} has {len(numbers)} numbers, and may have {self.most}."
        return ""


def _leaves(value: Any) -> Iterator[Any]:
    """Yield what a dict or nested tuples hold."""
    if type(value) in (dict, tuple):
        for item in value.values() if type(value) is dict else value:
            yield from _leaves(item)
    else:
        yield value


def _as_arrays(value: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the arguments with arrays in place of tuples; or a sentence, if one is no array."""
    import numpy as np

    found = {}
    for name, item in value.items():
        try:
            found[name] = np.array(item) if type(item) is tuple else item
        except ValueError:
            return {}, f"{name} is no array: its rows have different lengths."
    return found, ""


def _result(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Return what a function gives for copies of the arguments, or the name of what it raises."""
    import copy

    import numpy as np

    try:
        with np.errstate(all="ignore"):
            return function(**copy.deepcopy(dict(arguments)))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _is_same(one: Any, other: Any, close: float) -> bool:
    """Return whether two results have one shape, and differ by at most `close` times the largest number."""
    import numpy as np

    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape or "U" in (first.dtype.kind, second.dtype.kind):
        return first.shape == second.shape and bool((first == second).all())
    size = np.abs(first[np.isfinite(first)]).max(initial=0.0)
    return bool(np.allclose(first, second, rtol=0, atol=close * size, equal_nan=True))
