"""Say where in what a call returned the difference lies that a check has found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.checks.runner import Failure, shares_memory
from grader.texts.phrases import counted
from grader.values.arrays import to_numpy
from grader.values.comparison import Difference
from grader.values.formatting import describe, describe_type, show
from grader.worker.calls import Call

ITEM = re.compile(r"\[(\d+)\]")  # at the start of where two lists differ
TRAILING = re.compile(r"(?:\[[^][]*\])*$")  # the brackets at the end of a path


def item_of(failure: Failure, call: Call) -> int | None:
    """Return the index of the item that differs if a call returns a list; else None."""
    where = failure.difference.where.removeprefix("result") if failure.difference else ""
    found = ITEM.match(where) if type(call.value) in (list, tuple) else None
    return int(found[1]) if found and int(found[1]) < len(call.value) else None


def place_in(call: Call, found: Difference) -> str | None:
    """Return where in what a call returned the first unequal entry is, as code after the name of the result;
    None if it is none of the entries that the call returned, but made of them, or may be several."""
    if found.arrays is not None:
        _, have, wrong = found.arrays
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape)) if wrong.ndim else ()
        for path, leaf in paths(call.value):
            array = to_numpy(leaf) if hasattr(leaf, "shape") else None
            index = _index_of(have, at, array) if array is not None else None
            if index is not None:
                return f"{path}{index or ''}"
    path = TRAILING.search(found.where)[0]  # type: ignore[index]  # it finds no brackets too
    keys: list[Any] = list(call.value) if isinstance(call.value, dict) else []
    keys = list(range(len(call.value))) if isinstance(call.value, list | tuple) else keys
    places = (path, *(f"[{key!r}]{path}" for key in keys))
    fitting = [place for place in places if _is_at(call.value, place, found)]
    return fitting[0] if len(fitting) == 1 else None


def _index_of(have: Any, at: tuple[int, ...], array: Any) -> list[int] | None:
    """Return the index by which an array has the entry in its memory that another has at `at`; else None."""
    if have.dtype != array.dtype or not np.may_share_memory(have, array):
        return None
    start, first = (each.__array_interface__["data"][0] for each in (have, array))
    address = start + sum(i * step for i, step in zip(at, have.strides, strict=True)) - first
    offsets = np.zeros(array.shape, dtype=np.int64)
    for axis, (length, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        offsets += (np.arange(length) * step).reshape(-1, *(1,) * (array.ndim - axis - 1))
    places = np.argwhere(offsets == address)
    return places[0].tolist() if len(places) else None


def _is_at(value: Any, path: str, found: Difference) -> bool:
    """Return whether an entry of a result is the one that was compared."""
    try:
        for keys in re.findall(r"\[([^]]+)\]", path):
            key = ast.literal_eval(f"({keys},)")
            value = value[key] if hasattr(value, "shape") else value[key[0]]
    except (ValueError, SyntaxError, LookupError, TypeError):
        return False
    if found.arrays is None:
        texts = {show(value), describe(value), describe_type(value), f"{describe(value)}: {show(value)}"}
        texts |= {counted(len(value), "item")} if isinstance(value, list | tuple) else set()
        return found.got in texts
    have, number = found.arrays[1], to_numpy(value)
    at = np.unravel_index(int(np.argmax(found.arrays[2])), have.shape) if have.ndim else ()
    return number is not None and not number.ndim and bool(np.isclose(number, have[at], equal_nan=True))


def gradient_of(failure: Failure, call: Call) -> str:
    """Return the argument or the parameter whose gradient differs; empty if no gradient does."""
    arrays = failure.difference.arrays if failure.difference else None
    found = (call.gradients or {}).items() if arrays else ()
    return next((key for key, value in found if arrays and shares_memory(value, arrays[1])), "")


def paths(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a tree, each with the code that selects it."""
    if not isinstance(value, dict | list | tuple):
        yield "", value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        for path, leaf in paths(item):
            yield f"[{key!r}]{path}", leaf
