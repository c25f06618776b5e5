"""Render the sections as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from grader.drawing.text import ASCII, DIM, ORANGE, Paint, draw
from grader.report import Panel, Picture
from grader.see.sections import Figure, Section
from grader.see.tracing import cells_of

BOLD = "1"
MARKS = {"yours": "●", "fails": "✗", "begun": "◐", "open": "○"}
PLAIN = str.maketrans("●◐○₀₁₂ᵀ·“”", '*~-012T*""') | {ord("√"): "root "}


def render(sections: Sequence[Section], width: int, paint: Paint, ascii_only: bool = False) -> str:
    """Return all sections as lines of at most `width` columns."""
    lines = [line for section in sections for line in _section(section, width, paint, ascii_only)]
    text = "\n".join(lines) + "\n"
    return text.translate(ASCII).translate(PLAIN) if ascii_only else text


def _section(section: Section, width: int, paint: Paint, ascii_only: bool) -> Iterator[str]:
    yield paint(section.title, BOLD)
    for text in section.texts:
        yield from textwrap.wrap(text, width - 2, initial_indent="  ", subsequent_indent="  ")
    if "statuses" in section.data:
        yield from _katas(section.data["statuses"], paint)
    for figure in section.figures:
        yield ""
        yield from _figure(figure, width, paint, ascii_only)
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


def _figure(figure: Figure, width: int, paint: Paint, ascii_only: bool) -> Iterator[str]:
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
    yield from (f"  {line}" for line in draw(picture, width - 2, paint, ascii_only) if line.strip())


def _source(figure: Figure) -> str:
    """Return whose numbers a figure shows; an empty text if they are the student's."""
    katas = " ".join(figure.katas)
    if figure.source == "fails":
        return f"   yours, fails: {katas}"
    if figure.source in ("recorded", "missing"):
        return f"   {figure.note}" if figure.note else f"   not yours yet: grade {katas}"
    return ""
