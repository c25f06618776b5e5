"""Draw a picture as lines of text: panels side by side, with a cross before every wrong cell.

A shape tells whatever a colour tells: `██` is True and `·` False, `∞` an infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, isnan

from grader.drawing import largest_size, short_label
from grader.report import Panel, Picture

BLUE, ORANGE, DIM = "34", "33", "2"
GAP = 4  # spaces between two panels
MOST_ROWS = 12  # the rows of a table of numbers, and the bars of one panel
FEW_ROWS = 4  # the rows of panels that may stand below each other
BAR = 16  # the longest bar
MOST_POINTS = 32  # characters of a curve
RANGE = 28  # characters of a bar that is drawn over the range of values that are accepted
SHADES = "·░▒▓█"
LEVELS = "▁▂▃▄▅▆▇█"  # the heights of a curve
ASCII = str.maketrans(dict(zip("█·✗░▒▓…│▁▂▃▄▅▆▇", "#.x.:+~|_.:-=+*", strict=True)) | {"∞": "inf"})

Paint = Callable[[str, str], str]  # a text and a colour code, as in `formats.terminal.Paint`


@dataclass(frozen=True)
class TextCell:
    """The text of one cell, and whether its value is wrong."""

    text: str
    wrong: bool = False


def draw(picture: Picture, width: int, paint: Paint, *, ascii_only: bool = False) -> list[str]:
    """Return the picture as lines of at most `width` characters."""
    most = MOST_ROWS if picture.kind == "bars" else len(picture.columns)
    picture = _cropped(picture, MOST_ROWS, most)
    if picture.kind == "curve":
        lines = _curves(picture, paint)
    elif picture.low:
        lines = _bars_in_ranges(picture, paint)
    elif picture.kind == "bars":
        lines = _beside([_bars(picture, panel, paint) for panel in picture.panels], width)
    else:
        lines = _tables(picture, width, paint)
    if picture.caption != "result":
        lines = [picture.caption, *lines]
    return [line.translate(ASCII) for line in lines] if ascii_only else lines


def tells_apart(picture: Picture) -> bool:
    """Return whether the texts of all wrong cells differ from the expected ones, if the picture has them."""
    if len(picture.panels) == 1:
        return True
    first, last = picture.panels[0], picture.panels[-1]
    text = _truth if picture.kind == "mask" else _number
    return all(text(first.values[r][c]) != text(last.values[r][c]) for r, c in picture.wrong)


def _tables(picture: Picture, width: int, paint: Paint) -> list[str]:
    """Return numbers if they fit, side by side or a few rows below each other, else shades."""
    text = _truth if picture.kind == "mask" else _number
    blocks = [_table(picture, panel, text, paint) for panel in picture.panels]
    stacks = picture.kind != "mask" and len(picture.rows) <= FEW_ROWS
    if _fits(blocks, width) or (stacks and max(map(_width, blocks)) <= width):
        return _beside(blocks, width)
    blocks = [_table(picture, panel, _shade(picture), paint) for panel in picture.panels]
    if _fits(blocks, width) or len(picture.columns) <= FEW_ROWS:
        return _beside(blocks, width)
    return _tables(_cropped(picture, MOST_ROWS, 3 * len(picture.columns) // 4), width, paint)


def _fits(blocks: list[list[str]], width: int) -> bool:
    """Return whether the blocks fit side by side."""
    return sum(map(_width, blocks)) + GAP * (len(blocks) - 1) <= width


def _cropped(picture: Picture, rows: int, columns: int) -> Picture:
    """Return the picture with at most so many rows and columns, among them the first wrong cell."""
    at = min(picture.wrong, default=(0, 0))
    top, left = (max(0, place - most + 1) for place, most in zip(at, (rows, columns), strict=True))
    panels = [
        Panel(panel.title, tuple(row[left : left + columns] for row in panel.values[top : top + rows]))
        for panel in picture.panels
    ]
    return replace(
        picture,
        panels=tuple(panels),
        rows=picture.rows[top : top + rows],
        columns=picture.columns[left : left + columns],
        low=picture.low[left : left + columns],
        high=picture.high[left : left + columns],
        wrong=tuple(
            (row - top, column - left)
            for row, column in picture.wrong
            if 0 <= row - top < rows and 0 <= column - left < columns
        ),
    )


def _table(picture: Picture, panel: Panel, text: Callable[[float], str], paint: Paint) -> list[str]:
    """Return the panel as a title, a line of column labels and a line for each row."""
    marked = set(picture.wrong) if panel is picture.panels[-1] else set()
    cells = [
        [TextCell(text(value), (r, c) in marked) for c, value in enumerate(row)]
        for r, row in enumerate(panel.values)
    ]
    columns = list(map(short_label, picture.columns))
    room = max([len(cell.text) for row in cells for cell in row] + [len(label) for label in columns])
    rows = list(map(short_label, picture.rows))
    margin = max(map(len, rows))
    head = " " * (margin + 2) + "".join(f"  {label:>{room}}" for label in columns)
    lines = [panel.title, paint(head, DIM)]
    for label, row in zip(rows, cells, strict=True):
        shown = "".join(_marked(cell, room, paint) for cell in row)
        lines.append(paint(f"{label:>{margin}} │", DIM) + shown)
    return lines


def _marked(cell: TextCell, room: int, paint: Paint) -> str:
    shown = f"{'✗' * cell.wrong + cell.text:>{room + 1}}"
    return " " + (paint(shown, ORANGE) if cell.wrong else paint(shown, BLUE) if "█" in shown else shown)


def _truth(value: float) -> str:
    return "██" if value else "·"


def _number(value: float) -> str:
    if not isfinite(value):
        return "NaN" if isnan(value) else "∞" if value > 0 else "-∞"
    return f"{value:.4g}"


def _shade(picture: Picture) -> Callable[[float], str]:
    """Return what draws a number as a shade, on one scale for all panels; negative ones have a minus."""
    largest = largest_size(picture)

    def text(value: float) -> str:
        if not isfinite(value):
            return _number(value)
        shade = SHADES[min(len(SHADES) - 1, round(abs(value) / largest * (len(SHADES) - 1)))]
        return f"-{shade}" if value < 0 and shade != SHADES[0] else shade * 2 if shade != SHADES[0] else shade

    return text


def _bars(picture: Picture, panel: Panel, paint: Paint) -> list[str]:
    """Return a bar for each value of the panel's only row, on one scale for all panels."""
    largest, (values,) = largest_size(picture), panel.values
    wrong = {column for _, column in picture.wrong} if panel is picture.panels[-1] else set()
    room = max(len(_number(value)) for value in values)
    lines = [panel.title]
    for number, (label, value) in enumerate(zip(map(short_label, picture.columns), values, strict=True)):
        bar = "█" * round(BAR * (abs(value) / largest)) if isfinite(value) else ""
        mark = paint("✗", ORANGE) if number in wrong else " "
        colour = ORANGE if number in wrong else BLUE
        lines.append(f"{paint(f'{label:>4}', DIM)} {mark}{_number(value):>{room}} {paint(bar, colour)}")
    return lines


def _bars_in_ranges(picture: Picture, paint: Paint) -> list[str]:
    """Return a bar for each value of the last panel, over the range of values that are accepted."""
    expected, got = (panel.values[0] for panel in (picture.panels[0], picture.panels[-1]))
    largest, wrong = max(largest_size(picture), *picture.high), {column for _, column in picture.wrong}
    titles, labels = [panel.title for panel in picture.panels], list(map(short_label, picture.columns))
    margin, room = max(map(len, labels)), max(len(text) for text in [*titles, *map(_number, expected + got)])
    head = f"{'':{margin}}  {titles[0]:>{room}}   {titles[-1]:>{room}}   ░ is accepted"
    lines = [paint(head, DIM)]
    for column, label in enumerate(labels):
        ends = (got[column], picture.low[column], picture.high[column])
        bar, low, high = (round(RANGE * (value / largest)) if isfinite(value) else 0 for value in ends)
        cells = [
            ("▓" if place < bar else "░")
            if low <= place < max(high, low + 1)
            else "█"
            if place < bar
            else " "
            for place in range(max(bar, high, low + 1))
        ]
        mark, colour = (paint("✗", ORANGE), ORANGE) if column in wrong else (" ", BLUE)
        values = f"{_number(expected[column]):>{room}}  {mark}{_number(got[column]):>{room}}"
        lines.append(f"{paint(f'{label:>{margin}}', DIM)}  {values}  {paint(''.join(cells), colour)}")
    return lines


def _curves(picture: Picture, paint: Paint) -> list[str]:
    """Return a line of heights for each panel, on one scale from 0, with its first and its last value."""
    wide = max(1, MOST_POINTS // len(picture.columns))
    largest, room = largest_size(picture), max(len(panel.title) for panel in picture.panels)
    lines = []
    for panel in picture.panels:
        heights = "".join(_height(value, largest) * wide for value in panel.values[0])
        ends = f"{_grouped(panel.values[0][0])} … {_grouped(panel.values[0][-1])}"
        colour = BLUE if panel is picture.panels[0] else ORANGE
        lines.append(f"{panel.title:<{room}}  {paint(heights, colour)}  {ends}")
    wrong = {column for _, column in picture.wrong}
    if wrong:
        crosses = "".join(("✗" if n in wrong else " ") * wide for n in range(len(picture.columns))).rstrip()
        lines.append(f"{'':{room}}  {paint(crosses, ORANGE)}")
    first, last, length = picture.columns[0], picture.columns[-1], wide * len(picture.columns)
    return [*lines, paint(f"{'':{room}}  {first}{last:>{max(length - len(first), len(last) + 1)}}", DIM)]


def _height(value: float, largest: float) -> str:
    if not isfinite(value):
        return _number(value)[-1]
    return LEVELS[min(len(LEVELS) - 1, max(0, round(value / largest * (len(LEVELS) - 1))))]


def _grouped(value: float) -> str:
    """Return a number as text, a large one in full with separators."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else _number(value)


def _beside(blocks: list[list[str]], width: int) -> list[str]:
    """Return blocks of lines side by side, or one below the other if they do not fit."""
    if not _fits(blocks, width):
        return [line for block in blocks for line in block]
    height = max(map(len, blocks))
    lines = []
    for row in range(height):
        parts = [block[row] if row < len(block) else "" for block in blocks]
        padded = [
            part + " " * (_width(block) - _length(part)) for part, block in zip(parts, blocks, strict=True)
        ]
        lines.append((" " * GAP).join(padded).rstrip())
    return lines


def _width(block: list[str]) -> int:
    return max(map(_length, block))


def _length(line: str) -> int:
    """Return the number of characters shown, without colour codes."""
    return sum(len(part.partition("m")[2]) if n else len(part) for n, part in enumerate(line.split("\x1b[")))
