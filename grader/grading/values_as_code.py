"""Write values as Python expressions: numbers, containers, and arrays with their dtype and memory layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.values.arrays import is_contiguous, to_numpy
from grader.values.exchange import AS_IT_IS, ArrayExchange
from grader.values.seeded import expression_of, identity_of
from grader.worker.protocol.codec import forwards, span_of

MOST_ENTRIES = 2_000  # of all arrays together


class NotCode(Exception):
    """A value cannot be written as code."""


def code_of(value: Any, exchange: ArrayExchange = AS_IT_IS, *, is_whole: bool = False) -> str:
    """Return an expression for what the submission has where the grader has `value`, in which seeded arrays
    are written by their seed unless `is_whole` is true. Raises NotCode."""
    if isinstance(value, bool | int | str | type(None)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if isinstance(value, list | tuple):
        inside = ", ".join(code_of(item, exchange, is_whole=is_whole) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        items = (
            f"{code_of(key)}: {code_of(item, exchange, is_whole=is_whole)}" for key, item in value.items()
        )
        return "{" + ", ".join(items) + "}"
    if isinstance(value, np.generic):
        number = code_of(value.item())
        return number if exchange.as_tensors else f"np.{value.dtype}({number})"
    if made := identity_of(value, exchange) or (not is_whole and expression_of(value, exchange)):
        return made
    if isinstance(value, np.ndarray) and exchange.as_tensors:
        value = forwards(value)
        return _array(value, value.strides, "permute", f"torch.tensor({{}}, dtype=torch.{value.dtype})")
    if isinstance(value, np.ndarray):
        return _array(value, value.strides, "transpose", f"np.array({{}}, dtype=np.{value.dtype})")
    if type(value).__module__ == "torch" and hasattr(value, "stride") and not value.is_meta:
        value = value.detach()
        return _array(value, value.stride(), "permute", f"torch.tensor({{}}, dtype={value.dtype})")
    raise NotCode


def _array(value: Any, strides: tuple[int, ...], turn: str, template: str) -> str:
    """Return code for an array: the entries in their order in memory, then the axes in theirs."""
    # An axis of length 1 may have any stride, and stays where it is: a case reads alike wherever it is from.
    order = [*range(len(strides))]
    long = [axis for axis in order if value.shape[axis] > 1]
    for place, axis in zip(long, sorted(long, key=lambda axis: -strides[axis]), strict=True):
        order[place] = axis
    laid = value.transpose(*order) if isinstance(value, np.ndarray) else value.permute(order)
    if 0 in value.shape:
        return f"{template.format('[]')}.reshape({tuple(value.shape)})"
    if not is_contiguous(laid):
        return _with_gaps(value, template)
    code = template.format(_entries(laid))
    back = ", ".join(str(order.index(axis)) for axis in range(len(order)))
    return code if order == sorted(order) else f"{code}.{turn}({back})"


def _with_gaps(value: Any, template: str) -> str:
    """Return code for an array whose memory has gaps, is read twice or backwards."""
    if "bfloat16" in str(value.dtype):
        raise NotCode
    array = value if isinstance(value, np.ndarray) else value.numpy()
    span = span_of(array)
    if span is None:
        raise NotCode
    memory, shape = template.format(_entries(span.entries)), tuple(value.shape)
    if template.startswith("torch"):
        return f"{memory}.as_strided({shape}, {tuple(span.steps)}, {span.first})"
    return f"np.lib.stride_tricks.as_strided({memory}[{span.first}:], {shape}, {array.strides})"


def _entries(array: Any) -> str:
    """Return the entries as nested lists; a float has the fewest digits that give it back in its dtype."""
    values = to_numpy(array)
    if values is None:
        raise NotCode
    numbers = np.asarray(values)
    if numbers.dtype.kind == "f" and numbers.dtype != np.float64:
        numbers = numbers.astype(str).astype(float)
    is_plain = numbers.dtype.kind in "biuf" and np.isfinite(numbers).all()
    return repr(numbers.tolist()) if is_plain else code_of(numbers.tolist())
