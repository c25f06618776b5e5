"""Values as a student would type them back: short, exact enough, each array with dtype and shape."""

from __future__ import annotations

from typing import Any

import numpy as np

HUGE = 60  # digits that nobody counts
LIMIT = 400  # characters an array's text may take before it is cut around the place of interest


def show(value: Any, digits: int = 6, around: tuple[int, ...] | None = None) -> str:
    """`value` as text: `[[0.5, 1.0], [2.0, -inf]]`. Arrays too long are cut around index `around`."""
    array = _as_array(value)
    if array is None:
        return _shortened(_show_plain(value, digits))
    text = _nested(array, digits)
    if len(text) <= LIMIT:
        return text
    return _cut(array, digits, around or (0,) * array.ndim)


def _as_array(value: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if type(value).__module__ == "torch" and hasattr(value, "detach"):
        tensor = value.detach().cpu()
        return np.asarray(tensor.float().numpy() if tensor.is_floating_point() else tensor.numpy())
    return None


def _shortened(text: str) -> str:
    return text if len(text) <= LIMIT else f"{text[: LIMIT // 2]} … {text[-LIMIT // 4 :]}"


def _show_plain(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return _number(value, digits)
    if isinstance(value, int) and abs(value) >= 10**HUGE:
        return f"an integer of more than {HUGE} digits"  # Python refuses to print thousands of them
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {show(item, digits)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(show(item, digits) for item in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(show(item, digits) for item in value) + ("," if len(value) == 1 else "") + ")"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    return f"<{describe_type(value)}>"


def _number(value: Any, digits: int) -> str:
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    if isinstance(value, complex | np.complexfloating):
        return f"{value:.{digits}g}"
    text = f"{float(value):.{digits}g}"
    return text if any(c in text for c in ".en") else f"{text}.0"


def _nested(array: np.ndarray[Any, Any], digits: int) -> str:
    if array.ndim == 0:
        return _number(array.item(), digits)
    if array.size > LIMIT:
        return " " * (LIMIT + 1)  # longer than any text that is shown whole
    return "[" + ", ".join(_nested(part, digits) for part in array) + "]"


def _cut(array: np.ndarray[Any, Any], digits: int, at: tuple[int, ...]) -> str:
    """The row that holds `at`, with four entries on each side of it."""
    row, column = array[at[:-1]], at[-1]
    start, stop = max(0, column - 4), min(len(row), column + 5)
    inside = ", ".join(_number(item, digits) for item in row[start:stop])
    left, right = "…, " if start else "", ", …" if stop < len(row) else ""
    index = ", ".join(str(i) for i in (*at[:-1], f"{start}:{stop}"))
    return f"[{left}{inside}{right}]    at [{index}]"


def describe(value: Any, axes: list[str] | None = None) -> str:
    """dtype and shape, `float32 (batch=2, tokens=3)` with names for the last axes; a number's value."""
    if getattr(value, "shape", None) is not None:
        dtype = str(value.dtype).removeprefix("torch.")
        lengths = [str(int(n)) for n in value.shape]
        unnamed = len(lengths) - len(axes or [])
        names = [""] * unnamed + [f"{name}=" for name in (axes or [])[max(0, -unnamed) :]]
        return f"{dtype} ({', '.join(map(''.join, zip(names, lengths, strict=True)))})"
    if isinstance(value, bool | int | float):
        return f"{type(value).__name__} {value}"
    return describe_type(value)


def describe_type(value: Any) -> str:
    """What kind of thing it is, in the reader's words."""
    if value is None:
        return "None"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"a dict with the keys {sorted(map(str, value))}"
    if isinstance(value, str):
        return "a string"
    if getattr(value, "shape", None) is not None or isinstance(value, bool | int | float):
        return describe(value)
    name = getattr(value, "type_name", type(value).__name__)
    return f"an object of type {name}"


def counted(number: int, noun: str) -> str:
    """`1 gap`, `2 gaps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
