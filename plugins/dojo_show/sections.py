"""The sections of what is shown: sentences and figures, which the page and the text both render.

Render the sections as text for a terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dojo_show.tracing import Source, Step, Value, cells_of, plain
from grader.drawing.text import ASCII, DIM, ORANGE, Paint, draw
from grader.report import Panel, Picture, PictureKind

#: The name of a figure, and which number of a cell is that of its row.
Light = tuple[str, Literal["row", "column"]]


@dataclass(frozen=True)
class Figure:
    """One table of numbers, their source, and the katas that they wait for; no values if some are missing.

    `changed` is a mask of the cells that differ from the recording. The page leaves out what is
    `in_text_only`, since its script draws that from the section's data.

    `lights` says which rows light up while the pointer is on a cell: in the figure of that `name`, the one
    with the number of the cell's row or column.
    """

    title: str
    values: Value
    rows: Sequence[str]
    columns: Sequence[str]
    kind: PictureKind = "matrix"
    source: Source = "plain"
    katas: tuple[str, ...] = ()
    note: str = ""
    changed: Value = None
    in_text_only: bool = False
    name: str = ""
    lights: Sequence[Light] = ()


@dataclass(frozen=True)
class Section:
    """A part of the page. Its script draws `data` besides the figures.

    Every page and text shows some entries of the data: `statuses`, by kata; `said`, what the
    functions were given, in words; `comparisons`, which the text alone shows.
    """

    id: str
    title: str
    texts: Sequence[str]
    figures: Sequence[Figure] = ()
    data: dict[str, Any] = field(default_factory=dict)


def figure_of(  # noqa: PLR0913  # a demonstration names what differs from the default
    step: Step,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    kind: PictureKind = "matrix",
    place: int = 0,
    at: tuple[int | slice, ...] = (),
    steps: Sequence[Step] = (),
) -> Figure:
    """Return a value of a step as a figure; `steps` are those that it is made of, if not itself."""
    shape = (len(rows), len(columns))
    values = plain(lambda value: value[at].reshape(shape), step.values[place])
    changed = plain(lambda mask: mask[at].reshape(shape), step.mask(place))
    return Figure(title, values, rows, columns, kind, changed=changed, **status_of(steps or [step]))


def status_of(steps: Collection[Step]) -> dict[str, Any]:
    """Return where the numbers of these steps come from (the least favourable mark: yours, fails, recorded or
    missing), the katas that do not pass, and a note."""
    order: list[Source] = ["plain", "yours", "fails", "recorded", "missing"]
    source = max((step.source for step in steps), key=order.index, default="plain")
    weakest = [step for step in steps if step.source == source]
    katas = dict.fromkeys(step.kata for step in weakest if step.kata)
    # a call that was left out says less than the call that it waits for
    notes = [step.note for step in weakest if step.note and (step.kata or not katas)]
    shown = () if source in order[:2] else tuple(katas)
    return {"source": source, "katas": shown, "note": notes[0] if notes else ""}


def numbered(count: int, name: str = "feature") -> list[str]:
    """Return `feature 0`, `feature 1` and so on."""
    return [f"{name} {number}" for number in range(count)]


def labels(names: list[str]) -> list[str]:
    """Return the names, each with its number if it occurs more than once."""
    return [f"{name} {place}" if names.count(name) > 1 else name for place, name in enumerate(names)]


def rounded(value: Any, decimals: int = 4) -> Any:
    """Return an array as nested lists for JSON, with text for infinite numbers and NaN; None for None."""
    if value is None:
        return None
    if isinstance(value, np.ndarray | list | tuple):
        return [rounded(part, decimals) for part in value]
    number = float(value)
    if not np.isfinite(number):
        return "NaN" if np.isnan(number) else "∞" if number > 0 else "-∞"
    return int(number) if number == int(number) else round(number, decimals)


BOLD = "1"
MARKS = {"yours": "●", "fails": "✗", "begun": "◐", "open": "○"}
PLAIN = str.maketrans("●◐○₀₁₂ᵀ·“”", '*~-012T*""') | {ord("√"): "root "}


def render_text(sections: Sequence[Section], width: int, paint: Paint, *, ascii_only: bool = False) -> str:
    """Return all sections as lines of at most `width` columns."""
    lines = [line for section in sections for line in _section(section, width, paint, ascii_only=ascii_only)]
    text = "\n".join(lines) + "\n"
    return text.translate(ASCII).translate(PLAIN) if ascii_only else text


def _section(section: Section, width: int, paint: Paint, *, ascii_only: bool) -> Iterator[str]:
    yield paint(section.title, BOLD)
    for text in section.texts:
        yield from textwrap.wrap(text, width - 2, initial_indent="  ", subsequent_indent="  ")
    if "statuses" in section.data:
        yield from _katas(section.data["statuses"], paint)
    for figure in section.figures:
        yield ""
        yield from _figure(figure, width, paint, ascii_only=ascii_only)
    comparisons = section.data.get("comparisons", ())
    if comparisons:
        yield from ("", "  your larger functions on the same numbers")
    for found in comparisons:
        message = f"{found['kata']:<21} {found['what']:<33} {found['told']}"
        yield from textwrap.wrap(message, width, initial_indent="  ", subsequent_indent=" " * 24)
    yield ""


def _katas(statuses: dict[str, str], paint: Paint) -> Iterator[str]:
    """Yield the katas in two columns, each with a mark."""
    shown = [f"{MARKS[status]} {name}" for name, status in statuses.items()]
    for start in range(0, len(shown), 2):
        yield "  " + "".join(f"{entry:<34}" for entry in shown[start : start + 2]).rstrip()
    yield paint("  ● yours  ✗ yours, fails  ◐ begun  ○ not begun", DIM)


def _figure(figure: Figure, width: int, paint: Paint, *, ascii_only: bool) -> Iterator[str]:
    """Yield the lines of a figure, indented; the first says whose numbers they are, if not the student's."""
    source = _source(figure)
    if len(figure.title) + len(source) + 2 <= width:
        yield f"  {figure.title}{paint(source, ORANGE)}"
    else:
        yield f"  {figure.title}"
        yield from (paint(line, ORANGE) for line in textwrap.wrap(source, width, initial_indent=" "))
    if figure.values is None:
        return
    cells = tuple((row, column) for row, column in cells_of(figure.changed))
    values = tuple(tuple(round(float(value), 3) for value in row) for row in figure.values)
    columns = tuple(figure.columns)
    if figure.kind == "bars":
        columns = tuple(f"{label:<{max(map(len, columns))}}" for label in columns)
    picture = Picture(figure.kind, "result", (Panel("", values),), tuple(figure.rows), columns, cells)
    yield from (
        f"  {line}" for line in draw(picture, width - 2, paint, ascii_only=ascii_only) if line.strip()
    )


def _source(figure: Figure) -> str:
    """Return whose numbers a figure shows; an empty text if they are the student's."""
    katas = " ".join(figure.katas)
    if figure.source == "fails":
        return f"   yours, fails: {katas}"
    if figure.source in ("recorded", "missing"):
        return f"   {figure.note}" if figure.note else f"   not yours yet: grade {katas}"
    return ""
