"""Draw a picture as inline SVG, with a table of its values for screen readers.

The page's style sheet chooses the colours. A wrong cell has a cross and a thick border besides its colour.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from math import isfinite

from grader.drawing import largest_size, short_label
from grader.report import Panel, Picture

TALL = 22  # the height of a cell or a bar
NARROW, WIDE = 22, 84  # the width of a cell of a mask, and of a number that is not long
CROSS = 18  # the room for a cross, which stands before a value and covers none
DIGIT = 8  # the width of a character of a number, at most
LABEL = 7  # characters of a label of a row
TITLE = 8  # the width of a character of a title, at most
MARGIN, HEAD = 64, 40  # room for row labels, and for titles and column labels
BAR = 150  # the length of the longest bar
NUMBER = 64  # the room for a number behind a bar
RANGE = 240  # the length of the longest bar over the range of values that are accepted
PLOT = (260, 110)  # width and height of a curve
DIGITS = 4


def draw(picture: Picture) -> str:
    """Return a `figure`: the panels as SVG, the caption, and the values in a table that can be unfolded."""
    drawn = "".join(drawing for _, drawing in drawings(picture))
    caption = "" if picture.caption == "result" else f"<figcaption>{escape(picture.caption)}</figcaption>"
    return f"<figure>{drawn}{caption}{_table(picture)}</figure>"


def drawings(picture: Picture) -> list[tuple[str, str]]:
    """Return the elements `svg` of a picture, each with the title of what it shows."""
    shape = _curves if picture.kind == "curve" else _bars_in_ranges if picture.low else None
    if shape is None:
        return [(panel.title, _panel(picture, panel)) for panel in picture.panels]
    both = " and ".join(panel.title for panel in picture.panels)
    return [(both, _svg(f"{picture.caption}: {both}", *shape(picture)))]


def _svg(label: str, inside: str, width: int, height: int) -> str:
    return (
        f'<svg role="img" class="drawing" aria-label="{escape(label)}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">{inside}</svg>'
    )


def _panel(picture: Picture, panel: Panel) -> str:
    """Return one panel as an SVG of its own, so that a narrow page shows the panels below each other."""
    wrong = set(picture.wrong) if panel is picture.panels[-1] else set()
    shape = _bars if picture.kind == "bars" else _grid
    inside, width, height = shape(picture, panel, wrong)
    width = max(width, MARGIN + TITLE * len(panel.title))  # a narrow grid is no reason to cut its title off
    return _svg(f"{picture.caption}: {panel.title}", inside, width, height)


def _grid(picture: Picture, panel: Panel, wrong: set[tuple[int, int]]) -> tuple[str, int, int]:
    """Return the panel as cells, its width and its height."""
    wide, tall = _width(picture), TALL
    step = 2 if picture.kind == "mask" and len(picture.columns) > 10 else 1  # labels that would touch
    parts = [_text(MARGIN, 12, panel.title, "title", "start")]
    parts += [
        _text(MARGIN + column * wide + wide // 2, HEAD - 6, short_label(label, wide // 8), "label")
        for column, label in enumerate(picture.columns)
        if column % step == 0
    ]
    labels = _fitting(picture.rows)
    paint = _truth if picture.kind == "mask" else _number_on_ground(largest_size(picture))
    for row, values in enumerate(panel.values):
        y = HEAD + row * tall
        parts.append(_text(MARGIN - 8, y + 15, labels[row], "label", "end"))
        for column, value in enumerate(values):
            x = MARGIN + column * wide
            parts.append(_tile("cell", x, y, wide, tall))
            room = CROSS if (row, column) in wrong else 0
            parts.append(paint(x + room, y, wide - room, value))
            if room:
                parts.append(_cross(x, y, wide))
    return "".join(parts), MARGIN + len(picture.columns) * wide + 2, HEAD + len(panel.values) * tall + 2


def _width(picture: Picture) -> int:
    """Return the width of a cell, with room for a cross before the longest number."""
    if picture.kind == "mask":
        return NARROW + CROSS * bool(picture.wrong)
    numbers = [_number(value) for panel in picture.panels for row in panel.values for value in row]
    return max(WIDE, CROSS + DIGIT * max(map(len, numbers), default=0) + 6)


def _truth(x: int, y: int, wide: int, value: float) -> str:
    """Return a tile or a dot."""
    return _tile("plus", x, y, wide, TALL) if value else _text(x + wide // 2, y + 15, "·", "label")


def _number_on_ground(largest: float) -> Callable[[int, int, int, float], str]:
    """Return what draws a number on a ground whose strength is its size, on one scale for all panels."""

    def paint(x: int, y: int, wide: int, value: float) -> str:
        text = _text(x + wide - 6, y + 15, _number(value), "", "end")
        if not isfinite(value):
            return text
        sign, share = "minus" if value < 0 else "plus", 0.55 * abs(value) / largest
        return _tile(sign, x, y, wide, TALL, share) + text

    return paint


def _fitting(labels: tuple[str, ...]) -> list[str]:
    """Return labels that fit into the margin: all in full, or all short."""
    room = LABEL if max(map(len, labels)) <= LABEL else 0
    return [short_label(label, room) for label in labels]


def _bars(picture: Picture, panel: Panel, wrong: set[tuple[int, int]]) -> tuple[str, int, int]:
    """Return a horizontal bar for each value of the panel's only row, its width and its height."""
    largest, tall = largest_size(picture), TALL
    parts = [_text(MARGIN, 12, panel.title, "title", "start")]
    labels = _fitting(picture.columns)
    for column, value in enumerate(panel.values[0]):
        y = HEAD - 18 + column * tall
        parts.append(_text(MARGIN - 8, y + 15, labels[column], "label", "end"))
        length = round(BAR * (abs(value) / largest)) if isfinite(value) else 0
        sign = "minus" if value < 0 else "plus"
        x = MARGIN
        parts.append(
            f'<rect class="{sign}" x="{x}" y="{y + 3}" width="{length}" height="{tall - 6}" rx="3"/>'
        )
        parts.append(_text(x + length + 6, y + 15, _number(value), "", "start"))
        if (0, column) in wrong:
            parts.append(_cross(x, y, BAR + NUMBER + CROSS, BAR + NUMBER))
    return "".join(parts), MARGIN + BAR + NUMBER + CROSS + 4, HEAD - 16 + len(panel.values[0]) * tall


def _bars_in_ranges(picture: Picture) -> tuple[str, int, int]:
    """Return a bar for each value of the last panel, with a line where the first one's is and a frame around
    the range of values that are accepted."""
    expected, got = (panel.values[0] for panel in (picture.panels[0], picture.panels[-1]))
    largest, wrong = max(largest_size(picture), *picture.high), {column for _, column in picture.wrong}
    parts = [_text(MARGIN, 12, f"bar: {picture.panels[-1].title}", "title", "start")]
    parts.append(_text(MARGIN, 28, f"line: {picture.panels[0].title}, frame: accepted", "label", "start"))
    for column, label in enumerate(_fitting(picture.columns)):
        ends = (got[column], expected[column], picture.low[column], picture.high[column])
        length, line, low, high = (round(RANGE * (v / largest)) if isfinite(v) else 0 for v in ends)
        y = HEAD + column * TALL
        parts.append(_text(MARGIN - 8, y + 15, label, "label", "end"))
        parts.append(
            f'<rect class="plus" x="{MARGIN}" y="{y + 4}" width="{length}" height="{TALL - 8}" rx="3"/>'
        )
        parts.append(
            f'<rect class="range" x="{MARGIN + low}" y="{y + 2}" width="{max(2, high - low)}"'
            f' height="{TALL - 4}"/>'
        )
        parts.append(f'<path class="due" d="M{MARGIN + line} {y}v{TALL}"/>')
        number = f"{_number(got[column])}, expected {_number(expected[column])}"
        parts.append(_text(MARGIN + max(length, high) + 18, y + 15, number, "", "start"))
        if column in wrong:
            parts.append(_text(MARGIN + max(length, high) + 6, y + 15, "✗", "cross", "start"))
    return "".join(parts), MARGIN + RANGE + 150, HEAD + len(expected) * TALL


def _curves(picture: Picture) -> tuple[str, int, int]:
    """Return a line for each panel, on one scale from 0, with a cross on every wrong point of the last."""
    largest, step = largest_size(picture), PLOT[0] / max(1, len(picture.columns) - 1)
    parts = [f'<path class="axis" d="M{MARGIN} {HEAD}v{PLOT[1]}h{PLOT[0]}"/>']
    parts.append(_text(MARGIN - 8, HEAD + 8, _grouped(largest), "label", "end"))
    parts.append(_text(MARGIN - 8, HEAD + PLOT[1], "0", "label", "end"))
    for panel, kind in zip(picture.panels, ("due", "curve"), strict=True):
        points = [
            (round(MARGIN + step * column), round(HEAD + PLOT[1] * (1 - max(0.0, value) / largest)))
            for column, value in enumerate(panel.values[0])
            if isfinite(value)
        ]
        parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x},{y}" for x, y in points)}"/>')
    marked = {column for _, column in picture.wrong}
    for column, value in enumerate(picture.panels[-1].values[0]):
        if column in marked and isfinite(value):
            y = round(HEAD + PLOT[1] * (1 - max(0.0, value) / largest))
            parts.append(_text(round(MARGIN + step * column), y + 4, "✗", "cross"))
    dashed, solid = (panel.title for panel in picture.panels)
    parts.append(_text(MARGIN, 12, f"line: {solid}, dashed: {dashed}", "title", "start"))
    y = HEAD + PLOT[1] + 16
    parts.append(_text(MARGIN, y, picture.columns[0], "label", "start"))
    parts.append(_text(MARGIN + PLOT[0], y, picture.columns[-1], "label", "end"))
    return "".join(parts), MARGIN + PLOT[0] + 12, y + 6


def _cross(x: int, y: int, wide: int, before: int = 0) -> str:
    """Return a border around a cell, and a cross in it with so much room before it."""
    return _tile("wrong", x, y, wide, TALL) + _text(x + before + 5, y + 15, "✗", "cross", "start")


def _tile(kind: str, x: int, y: int, wide: int, tall: int, opacity: float = 1) -> str:
    """Return a rounded rectangle with a gap around it."""
    shade = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    box = f'x="{x + 1}" y="{y + 1}" width="{wide - 2}" height="{tall - 2}" rx="3"'
    return f'<rect class="{kind}"{shade} {box}/>'


def _text(x: int, y: int, text: str, kind: str, anchor: str = "middle") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{named}>{escape(text)}</text>'


def _table(picture: Picture) -> str:
    """Return all values as tables that are folded."""
    tables = []
    for panel in picture.panels:
        head = "".join(f'<th scope="col">{escape(label)}</th>' for label in picture.columns)
        rows = "".join(
            f'<tr><th scope="row">{escape(label)}</th>'
            + "".join(f"<td>{_value(value, picture.kind)}</td>" for value in values)
            + "</tr>"
            for label, values in zip(picture.rows, panel.values, strict=True)
        )
        tables.append(
            f"<table><caption>{escape(panel.title)}</caption><tr><td></td>{head}</tr>{rows}</table>"
        )
    return f"<details><summary>the values as a table</summary>{''.join(tables)}</details>"


def _value(value: float, kind: str) -> str:
    return ("True" if value else "False") if kind == "mask" else _number(value)


def _grouped(value: float) -> str:
    """Return a number as text, a large one in full with separators."""
    return f"{value:,.0f}" if 1000 <= value < 1e15 else _number(value)


def _number(value: float) -> str:
    return f"{value:.{DIGITS}g}".replace("inf", "∞")
