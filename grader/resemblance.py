"""Whether two failures are one and the same: equal verdicts after equal answers."""

from __future__ import annotations

import re
from typing import Any

from grader.comparison import EPSILON, Tolerance, dtype_name, first_difference, float_dtype, terms_of
from grader.judging import Failure
from grader.worker.codec import Handle, Phantom
from grader.worker.student import Call


def alike(theirs: Failure, mine: Failure) -> bool:
    """The same verdict after the same answers."""
    if theirs.status != mine.status or len(theirs.trace) != len(mine.trace):
        return False
    if theirs.status == "error" and _said(theirs) != _said(mine):
        return False
    if theirs.status == "failed" and theirs.message.split(" (line")[0] != mine.message.split(" (line")[0]:
        return bool(theirs.difference or mine.difference) and _same_calls(theirs, mine)
    return _same_calls(theirs, mine)


def _same_calls(theirs: Failure, mine: Failure) -> bool:
    tolerance = Tolerance(terms_of(theirs.case), 16)
    finest = float_dtype(theirs.case)
    return all(_same_answer(a, b, tolerance, finest) for a, b in zip(theirs.trace, mine.trace, strict=True))


def _same_answer(theirs: Call, mine: Call, tolerance: Tolerance, given: str | None) -> bool:
    if theirs.error or mine.error:
        return theirs.error[:1] == mine.error[:1]
    if isinstance(theirs.value, Handle | Phantom):
        return type(theirs.value) is type(mine.value)
    pair = _without_handles(theirs.value), _without_handles(mine.value)
    if (theirs.gradients is None) != (mine.gradients is None):
        return False
    dtype = _dtype_to_compare_in(_dtype(pair[0]), _dtype(pair[1]), given)
    same = first_difference(*pair, tolerance, dtype) is None
    return same and first_difference(theirs.gradients, mine.gradients, tolerance, dtype) is None


def _dtype_to_compare_in(theirs: str, mine: str, given: str | None) -> str:
    """The coarser of the two answers' dtypes, though none coarser than the arguments' unless both are: a
    mistake that loses digits explains no answer that has them."""
    coarser = max(theirs, mine, key=_epsilon)
    if given and theirs != mine and _epsilon(coarser) > _epsilon(given):
        return given
    return coarser


def _epsilon(dtype: str) -> float:
    return EPSILON.get(dtype, 0.0)


def _said(failure: Failure) -> str:
    """The message without its line and its numbers, which vary with the case and the code."""
    return re.sub(r"\d+", "0", failure.message.split(" (line")[0])


def _dtype(value: Any) -> str:
    if isinstance(value, list | tuple):
        return _dtype(value[0]) if value else ""
    return dtype_name(value)


def _without_handles(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_handles(item) for item in value]
    if isinstance(value, Handle | Phantom):
        return value.__class__.__name__
    return value
