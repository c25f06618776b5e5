"""Values as a student would type them back: short, exact enough, each array with dtype and shape.

Time and length are bounded for every value that `grader.worker.protocol.codec` lets through.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.worker.protocol.codec import TensorOutline

HUGE = 300  # digits of the longest integer that is written out
LIMIT = 400  # characters of a text that is shown whole; a longer one is cut around the place of interest
BESIDE = 4  # entries shown on each side of that place
LETTERS = 40  # characters of a string shown on each side of it
SMALL = 50  # characters of an entry beside it
PRECISIONS = (6, 9, 17)  # digits; any two floats differ in 17

Place = tuple[int, ...]  # the index of an entry, from the outside in


def show(value: Any, digits: int = 6, around: Place = ()) -> str:
    """Return `value` as text: `[[0.5, 1.0], [2.0, -inf]]`. A long value is cut around the place `around`."""
    text = _whole(value, digits, LIMIT)
    return _part(value, digits, around) if text is None else text


def show_pair(expected: Any, got: Any, around: Place = ()) -> tuple[str, str]:
    """Return two values as texts that differ at the place `around`: cut alike, with as many digits as the
    entries there need."""
    entries = _at(expected, around), _at(got, around)
    digits = next((n for n in PRECISIONS if _differ(*entries, n)), PRECISIONS[0])
    whole = _whole(expected, digits, LIMIT), _whole(got, digits, LIMIT)
    if whole[0] is not None and whole[1] is not None:
        return whole[0], whole[1]
    return _part(expected, digits, around), _part(got, digits, around)


def _at(value: Any, place: Place) -> Any:
    """Return the entry at `place`; None where there is none."""
    try:
        for index in place:
            value = value[index]
    except (IndexError, TypeError, KeyError):
        return None
    return value


def _differ(one: Any, other: Any, digits: int) -> bool:
    return _whole(one, digits, LIMIT) != _whole(other, digits, LIMIT)


def _whole(value: Any, digits: int, room: int) -> str | None:
    """Return all of `value` as text, or None where it takes more than `room` characters."""
    array = _as_array(value)
    text: str | None
    if array is not None:
        text = _nested(array, digits) if _parts(array.shape) <= room else None
    elif isinstance(value, list | tuple | dict):
        text = _whole_container(value, digits, room)
    elif isinstance(value, str):
        text = repr(value) if len(value) <= room else None
    else:
        text = _leaf(value, digits)
    return text if text is not None and len(text) <= room else None


def _whole_container(value: Any, digits: int, room: int) -> str | None:
    items = value.items() if isinstance(value, dict) else value
    parts: list[str] = []
    for item in items:
        part = _whole_entry(item, digits, room) if isinstance(value, dict) else _whole(item, digits, room)
        if part is None:
            return None
        parts.append(part)
        room -= len(part) + len(", ")
    return _bracketed(value, parts)


def _whole_entry(entry: tuple[Any, Any], digits: int, room: int) -> str | None:
    key, item = _whole(entry[0], digits, room), _whole(entry[1], digits, room)
    return None if key is None or item is None else f"{key}: {item}"


def _bracketed(value: Any, parts: list[str]) -> str:
    inside = ", ".join(parts)
    if isinstance(value, tuple):
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


def _parts(shape: Place) -> int:
    """Return how many texts an array of this shape is made of: its entries, or its rows without entries."""
    return math.prod(max(length, 1) for length in shape)


def _part(value: Any, digits: int, around: Place, path: Place = ()) -> str:
    """Return the entries near `around`, and where they stand; `path` leads to `value`."""
    array = _as_array(value)
    if array is not None:
        return _part_of_array(array, digits, around, path)
    if isinstance(value, list | tuple) and value:
        at = min(around[0] if around else 0, len(value) - 1)
        if _whole(value[at], digits, LIMIT // 2) is None:
            return _part(value[at], digits, around[1:], (*path, at))
        return _window(value, digits, at, path)
    if isinstance(value, str):
        return _part_of_text(value, around, path)
    if isinstance(value, dict):
        return f"a dict with {counted(len(value), 'key')}"
    return _leaf(value, digits)[:LIMIT]


def _part_of_array(array: np.ndarray[Any, Any], digits: int, around: Place, path: Place) -> str:
    """Return the row that holds `around`, with four entries on each side of it."""
    if array.size == 0 or array.ndim == 0:
        return f"an array of shape {array.shape}"
    at = (*around, *(0,) * array.ndim)[: array.ndim]
    return _window(array[at[:-1]], digits, at[-1], (*path, *at[:-1]))


def _window(row: Any, digits: int, at: int, path: Place) -> str:
    start, stop = max(0, at - BESIDE), min(len(row), at + BESIDE + 1)
    rooms = [LIMIT // 2 if index == at else SMALL for index in range(start, stop)]
    parts = [_whole(item, digits, room) or "…" for item, room in zip(row[start:stop], rooms, strict=True)]
    inside = ["…"] * (start > 0) + parts + ["…"] * (stop < len(row))
    return f"{_bracketed(row, inside)}    at [{_index(path, start, stop)}]"


def _part_of_text(text: str, around: Place, path: Place) -> str:
    at = around[0] if around else 0
    start, stop = max(0, at - LETTERS), min(len(text), at + LETTERS)
    left, right = "…" if start else "", "…" if stop < len(text) else ""
    return f"{left}{text[start:stop]!r}{right}    at [{_index(path, start, stop)}]"


def _index(path: Place, start: int, stop: int) -> str:
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
    if isinstance(value, int) and abs(value) >= 10**HUGE:
        return f"an integer of more than {HUGE} digits"  # Python refuses to print thousands of them
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


def describe(value: Any, axes: list[str] | None = None) -> str:
    """dtype and shape, `float32 (batch=2, tokens=3)` with names for the last axes; a number's value."""
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
    """What kind of thing it is, in the reader's words."""
    if value is None:
        return "None"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        keys = _whole(sorted(value, key=str), 0, LIMIT)
        return f"a dict with {counted(len(value), 'key')}" if keys is None else f"a dict with the keys {keys}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, TensorOutline):
        return f"{describe(value)} without values"  # or it would look like the array that was due
    if getattr(value, "shape", None) is not None or isinstance(value, bool | int | float):
        return describe(value)
    name = getattr(value, "type_name", type(value).__name__)
    return f"an object of type {name}"


def counted(number: int, noun: str) -> str:
    """`1 gap`, `2 gaps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
