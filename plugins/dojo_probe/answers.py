"""Ask two functions the same, and say whether their answers differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.course.files import message_of
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Arguments, Kata
from grader.texts.escaping import harmless
from grader.values.arrays import dtype_name, leaves, to_numpy
from grader.values.comparison import first_difference, precision_of
from grader.values.formatting import show
from grader.worker.client import WorkerLost
from grader.worker.proxies import without_objects
from grader.worker.student import Student

#: How two answers differ.
RESULTS, DTYPES = "their results", "the dtypes of their results"
CHANGES = "what they do to their arguments"


@dataclass(frozen=True)
class FunctionAnswer:
    """What a function gives for some arguments: values by name, or the exception as text; and the arguments
    that it changes."""

    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    changed: tuple[str, ...] = ()

    def __str__(self) -> str:
        values = [*self.values.values()]
        shown = show(values[0]) if len(values) == 1 else show(dict(self.values))
        return harmless(self.error or shown)

    def said(self, difference: str) -> str:
        """Return the answer as text, with what makes it differ from another one with equal values."""
        if difference == DTYPES:
            return f"{self}, {', '.join(_dtypes(self.values))}"
        if difference == CHANGES:
            changes = " and ".join(self.changed) or "nothing"
            return f"{self}, and changes {changes}"
        return str(self)

    @property
    def has_nan(self) -> bool:
        """Whether an entry is nan."""
        arrays = [to_numpy(leaf) for leaf in leaves(self.values)]
        return any(
            array is not None and array.dtype.kind == "f" and np.isnan(array).any() for array in arrays
        )


def answer_of(kata: Kata, student: Student, arguments: Arguments) -> FunctionAnswer:
    """Return what the function of a student gives for some arguments. Raises WorkerLost."""
    try:
        with student.watching_arguments() as watched:
            values = dict(kata.observed(student, arguments))
    except SubmissionFailed as failed:
        said = f"{failed.kinds[0]}: {failed.message}" if failed.message else failed.kinds[0]
        return FunctionAnswer(error=said)
    except ExpectationFailed as failed:
        return FunctionAnswer(error=str(failed))
    except WorkerLost:
        raise
    except Exception as error:  # the kata's own function cannot take the result apart
        return FunctionAnswer(error=f"the result is of another form: {message_of(error)}")
    return FunctionAnswer(without_objects(values), changed=tuple(watched.changed))


def difference(kata: Kata, arguments: Arguments, right: FunctionAnswer, wrong: FunctionAnswer) -> str:
    """Return how two answers differ, as a phrase: in their values, their dtypes, or in what they change; ""
    if they do not."""
    if right.error or wrong.error:
        return RESULTS if right.error != wrong.error else ""
    tolerance = precision_of(arguments).tolerance(kata.roundings)
    if first_difference(right.values, wrong.values, tolerance):
        return RESULTS
    if _dtypes(right.values) != _dtypes(wrong.values):
        return DTYPES
    return CHANGES if right.changed != wrong.changed else ""


def _dtypes(values: Any) -> list[str]:
    return [dtype_name(leaf) for leaf in leaves(values) if hasattr(leaf, "shape")]
