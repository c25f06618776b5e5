"""Turn the arrays of a failed comparison into a picture: the expected values beside the submission's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from grader.report import (
    Panel,
    Picture,
    PictureKind,
    to_number,
)
from grader.values.comparison import Array, Difference
from grader.values.formatting import axis_names

if TYPE_CHECKING:
    pass


LARGEST_SIDE = 32  # rows or columns of a picture
DIGITS = 6  # significant digits of a value
NAME = re.compile(r"[A-Za-z_]\w*")


def pictures_of(difference: Difference | None, axes: dict[str, str]) -> tuple[Picture, ...]:
    """Return a picture of the last two axes around the first wrong entry; none if there is nothing to draw.
    `axes` holds the names of a value's last axes."""
    if difference is None or difference.arrays is None:
        return ()
    wanted, have, wrong = difference.arrays
    if wanted.ndim == 0 or wanted.size < 2 or {wanted.dtype.kind, have.dtype.kind} - set("biuf"):
        return ()
    at = tuple(int(place) for place in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    tables = [np.atleast_2d(array[at[:-2]]) for array in (wanted, have, wrong)]
    window = tuple(map(_window, tables[0].shape, (0, *at)[-2:]))
    part = difference.where.rpartition("[")[0]  # without the index of the entry
    name = part if part[:1].isidentifier() else f"result{part}"
    named = axis_names(axes.get(NAME.findall(name)[0], ""), wanted.ndim)
    labels = map(_labels, window, ["", "", *named][-2:])
    rows, columns = labels if wanted.ndim > 1 else ([""], [*labels][-1])
    return (
        Picture(
            _kind(wanted, have),
            _caption(name, at[:-2], window[-wanted.ndim :], wanted.shape[-2:]),
            (_panel("expected", tables[0][window]), _panel("got", tables[1][window])),
            tuple(rows),
            tuple(columns),
            tuple((int(row), int(column)) for row, column in np.argwhere(tables[2][window])),
        ),
    )


def _kind(wanted: Array, have: Array) -> PictureKind:
    if wanted.dtype.kind == have.dtype.kind == "b":
        return "mask"
    return "bars" if wanted.ndim == 1 and wanted.dtype.kind == "f" else "matrix"


def _window(length: int, place: int) -> slice:
    """Return at most LARGEST_SIDE indices of an axis, with `place` among them."""
    start = max(0, min(place - LARGEST_SIDE // 2, length - LARGEST_SIDE))
    return slice(start, min(start + LARGEST_SIDE, length))


def _labels(span: slice, name: str) -> list[str]:
    return [f"{name} {index}".strip() for index in range(span.start, span.stop)]


def _panel(title: str, table: Array) -> Panel:
    rows = table.astype(np.float64).tolist()
    return Panel(title, tuple(tuple(to_number(f"{value:.{DIGITS}g}") for value in row) for row in rows))


def _caption(name: str, outer: tuple[int, ...], window: tuple[slice, ...], shape: tuple[int, ...]) -> str:
    """Return which part of which value is drawn."""
    is_cut = [(span.start, span.stop) != (0, length) for span, length in zip(window, shape, strict=True)]
    if not outer and not any(is_cut):
        return name
    spans = [f"{s.start}:{s.stop}" if cut else ":" for s, cut in zip(window, is_cut, strict=True)]
    return f"{name}[{', '.join([*map(str, outer), *spans])}]"


def picture_of(value: object) -> tuple[Picture, ...]:
    """Return the first rows and columns of an array's last two axes as a picture; none if the value is not an
    array of at least two numbers."""
    array = np.asarray(value) if hasattr(value, "shape") else np.empty(0)
    if array.ndim == 0 or array.size < 2 or array.dtype.kind not in "biuf":
        return ()
    outer = (0,) * (array.ndim - 2)
    table = np.atleast_2d(array[outer])
    window = tuple(slice(0, min(length, LARGEST_SIDE)) for length in table.shape)
    rows, columns = (_labels(span, "") for span in window)
    return (
        Picture(
            _kind(array, array),
            _caption("value", outer, window[-array.ndim :], array.shape[-2:]),
            (_panel("", table[window]),),
            tuple(rows) if array.ndim > 1 else ("",),
            tuple(columns),
        ),
    )
