"""Format values as a student would type them, and describe their types, dtypes and shapes.

Time and length are bounded for every value that `grader.worker.protocol.codec` accepts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.texts.phrases import counted
from grader.worker.protocol.codec import TensorOutline

MAX_DIGITS = 300  # digits of the longest integer that is written out
LIMIT = 400  # characters of the longest text that is shown in full; a longer one is cut around an entry
CONTEXT_ENTRIES = 4  # entries shown on each side of that entry
CONTEXT_CHARACTERS = 40  # characters of a string shown on each side of the character of interest
NEIGHBOUR_LIMIT = 50  # characters of the longest neighbouring entry that is shown
PRECISIONS = (6, 9, 17)  # numbers of digits to try; with 17, any two unequal floats look unequal

Index = tuple[int, ...]  # the index of an entry, from the outermost axis or container to the innermost


def show(value: Any, digits: int = 6, around: Index = ()) -> str:
    """Return `value` as text: `[[0.5, 1.0], [2.0, -inf]]`. A long value is cut around the entry `around`."""
    text = _full_text(value, digits, LIMIT)
    return _cut(value, digits, around) if text is None else text


def show_pair(expected: Any, got: Any, around: Index = ()) -> tuple[str, str]:
    """Return two values as texts, cut alike, with enough digits to tell their entries at `around` apart."""
    entries = _entry(expected, around), _entry(got, around)
    digits = next((n for n in PRECISIONS if _look_unequal(*entries, n)), PRECISIONS[0])
    whole = _full_text(expected, digits, LIMIT), _full_text(got, digits, LIMIT)
    if whole[0] is not None and whole[1] is not None:
        return whole[0], whole[1]
    return _cut(expected, digits, around), _cut(got, digits, around)


def _entry(value: Any, index: Index) -> Any:
    """Return the entry at `index`; None if there is none."""
    try:
        for position in index:
            value = value[position]
    except (IndexError, TypeError, KeyError):
        return None
    return value


def _look_unequal(one: Any, other: Any, digits: int) -> bool:
    return _full_text(one, digits, LIMIT) != _full_text(other, digits, LIMIT)


def _full_text(value: Any, digits: int, room: int) -> str | None:
    """Return all of `value` as text, or None if that takes more than `room` characters."""
    array = _as_array(value)
    text: str | None
    if array is not None:
        text = _nested(array, digits) if _piece_count(array.shape) <= room else None
    elif isinstance(value, list | tuple | dict):
        text = _full_container(value, digits, room)
    elif isinstance(value, str):
        text = repr(value) if len(value) <= room else None
    else:
        text = _leaf(value, digits)
    return text if text is not None and len(text) <= room else None


def _full_container(value: Any, digits: int, room: int) -> str | None:
    items = value.items() if isinstance(value, dict) else value
    parts: list[str] = []
    for item in items:
        part = _full_item(item, digits, room) if isinstance(value, dict) else _full_text(item, digits, room)
        if part is None:
            return None
        parts.append(part)
        room -= len(part) + len(", ")
    return _bracketed(value, parts)


def _full_item(entry: tuple[Any, Any], digits: int, room: int) -> str | None:
    key, item = _full_text(entry[0], digits, room), _full_text(entry[1], digits, room)
    return None if key is None or item is None else f"{key}: {item}"


def _bracketed(value: Any, parts: list[str]) -> str:
    inside = ", ".join(parts)
    if isinstance(value, tuple):
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


def _piece_count(shape: Index) -> int:
    """Return how many numbers or pairs of brackets an array of this shape is written with, at least."""
    return math.prod(max(length, 1) for length in shape)


def _cut(value: Any, digits: int, around: Index, path: Index = ()) -> str:
    """Return the entries near `around` and their index, which begins with `path`, the index of `value`."""
    array = _as_array(value)
    if array is not None:
        return _cut_array(array, digits, around, path)
    if isinstance(value, list | tuple) and value:
        at = min(around[0] if around else 0, len(value) - 1)
        if _full_text(value[at], digits, LIMIT // 2) is None:
            return _cut(value[at], digits, around[1:], (*path, at))
        return _window(value, digits, at, path)
    if isinstance(value, str):
        return _cut_string(value, around, path)
    if isinstance(value, dict):
        return f"a dict with {counted(len(value), 'key')}"
    return _leaf(value, digits)[:LIMIT]


def _cut_array(array: np.ndarray[Any, Any], digits: int, around: Index, path: Index) -> str:
    """Return the part near `around` of the row that contains it."""
    if array.size == 0 or array.ndim == 0:
        return f"an array of shape {array.shape}"
    at = (*around, *(0,) * array.ndim)[: array.ndim]
    return _window(array[at[:-1]], digits, at[-1], (*path, *at[:-1]))


def _window(row: Any, digits: int, at: int, path: Index) -> str:
    start, stop = max(0, at - CONTEXT_ENTRIES), min(len(row), at + CONTEXT_ENTRIES + 1)
    rooms = [LIMIT // 2 if index == at else NEIGHBOUR_LIMIT for index in range(start, stop)]
    parts = [_full_text(item, digits, room) or "…" for item, room in zip(row[start:stop], rooms, strict=True)]
    if start > 0:
        parts.insert(0, "…")
    if stop < len(row):
        parts.append("…")
    return f"{_bracketed(row, parts)}    at [{_slice_text(path, start, stop)}]"


def _cut_string(text: str, around: Index, path: Index) -> str:
    at = around[0] if around else 0
    start, stop = max(0, at - CONTEXT_CHARACTERS), min(len(text), at + CONTEXT_CHARACTERS)
    left, right = "…" if start else "", "…" if stop < len(text) else ""
    return f"{left}{text[start:stop]!r}{right}    at [{_slice_text(path, start, stop)}]"


def _slice_text(path: Index, start: int, stop: int) -> str:
    return ", ".join([*map(str, path), f"{start}:{stop}"])


def _as_array(value: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if type(value).__module__ == "torch" and hasattr(value, "detach") and not value.is_meta:
        tensor = value.detach().cpu()
        return np.asarray(tensor.float().numpy() if str(tensor.dtype) == "torch.bfloat16" else tensor.numpy())
    return None


def _leaf(value: Any, digits: int) -> str:
    if value is None or isinstance(value, bool | int | float):
        return _number(value, digits)
    return f"<{describe_type(value)}>"


def _number(value: Any, digits: int) -> str:
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return f"an integer of more than {MAX_DIGITS} digits"  # Python refuses to print thousands of digits
    if value is None or isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    if isinstance(value, complex | np.complexfloating):
        return f"{value:.{digits}g}"
    text = f"{float(value):.{digits}g}"
    return text if any(c in text for c in ".en") else f"{text}.0"


def _nested(array: np.ndarray[Any, Any], digits: int) -> str:
    if array.ndim == 0:
        return _number(array.item(), digits)
    return "[" + ", ".join(_nested(part, digits) for part in array) + "]"


def axis_names(text: str, count: int | None = None) -> list[str]:
    """Return the names of the last axes of an array with `count` axes. An axis in brackets is missing where
    the array has fewer axes than there are names: "batch [tokens] d_k" is "batch d_k" for two."""
    names = text.split()
    if count is not None and count < len(names):
        names = [name for name in names if not name.startswith("[")]
    return [name.strip("[]") for name in names]


def describe(value: Any, axes: list[str] | None = None) -> str:
    """Return dtype and shape, `float32 (batch=2, tokens=3)` with `axes` as names of the last axes.

    A number is described by its type and value, anything else by its type.
    """
    if getattr(value, "shape", None) is not None:
        dtype = str(value.dtype).removeprefix("torch.")
        lengths = [str(int(n)) for n in value.shape]
        unnamed = len(lengths) - len(axes or [])
        names = [""] * unnamed + [f"{name}=" for name in (axes or [])[max(0, -unnamed) :]]
        return f"{dtype} ({', '.join(map(''.join, zip(names, lengths, strict=True)))})"
    if isinstance(value, bool | int | float):
        return f"{type(value).__name__} {value if isinstance(value, float) else _number(value, 0)}"
    return describe_type(value)


def describe_type(value: Any) -> str:
    """Return the type of a value as a noun phrase, such as `a list of 3`."""
    if value is None:
        return "None"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        keys = _full_text(sorted(value, key=str), 0, LIMIT)
        return f"a dict with {counted(len(value), 'key')}" if keys is None else f"a dict with the keys {keys}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, TensorOutline):
        return f"{describe(value)} without values"  # otherwise it would look like the expected array
    if getattr(value, "shape", None) is not None or isinstance(value, bool | int | float):
        return describe(value)
    name = getattr(value, "type_name", type(value).__name__)
    return f"an object of type {name}"
