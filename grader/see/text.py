"""Render the sections as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from grader.drawing.text import ASCII, Paint, draw
from grader.report import Panel, Picture
from grader.see.sections import Figure, Section

BOLD, ORANGE, DIM = "1", "33", "2"
MARKS = {"yours": "●", "fails": "✗", "begun": "◐", "open": "○"}
PLAIN = str.maketrans({"●": "*", "◐": "~", "○": "-", "₀": "0", "₁": "1", "₂": "2", "ᵀ": "T", "√": "root ", "·": "*", "“": '"', "”": '"'})


def render(sections: Sequence[Section], width: int, paint: Paint, ascii_only: bool = False) -> str:
    """Return all sections as lines of at most `width` columns."""
    lines = [line for section in sections for line in _section(section, width, paint, ascii_only)]
    text = "\n".join(lines) + "\n"
    return text.translate(ASCII).translate(PLAIN) if ascii_only else text


def _section(section: Section, width: int, paint: Paint, ascii_only: bool) -> Iterator[str]:
    yield paint(section.title, BOLD)
    for text in section.texts:
        yield from textwrap.wrap(text, width - 2, initial_indent="  ", subsequent_indent="  ")
    if "said" in section.data:
        yield from _katas(section.data["katas"], paint)
    for figure in section.figures:
        yield ""
        yield from _figure(figure, width, paint, ascii_only)
    for found in section.data.get("comparisons", ()):
        yield f"  your {found['kata']}, {found['what']}: {found['told']}"
    yield ""


def _katas(statuses: dict[str, str], paint: Paint) -> Iterator[str]:
    """Yield the katas in three columns, each with a mark."""
    shown = [f"{MARKS[status]} {name}" for name, status in statuses.items()]
    for start in range(0, len(shown), 2):
        yield "  " + "".join(f"{entry:<34}" for entry in shown[start : start + 2]).rstrip()
    yield paint("  ● yours  ✗ yours, fails  ◐ begun  ○ not begun", DIM)


def _figure(figure: Figure, width: int, paint: Paint, ascii_only: bool) -> Iterator[str]:
    """Yield the figure indented, with its source above if it is not the student's."""
    yield f"  {figure.title}{paint(_source(figure), ORANGE)}"
    if figure.values is None:
        return
    kind = "bars" if figure.kind == "bars" else figure.kind
    wrong = () if figure.changed is None else tuple((int(r), int(c)) for r, c in zip(*figure.changed.nonzero(), strict=True))
    values = tuple(tuple(round(float(value), 3) for value in row) for row in figure.values)
    picture = Picture(kind, "result", (Panel("", values),), tuple(figure.rows), tuple(figure.columns), wrong)
    for line in draw(picture, width - 2, paint, ascii_only):
        if line.strip():
            yield f"  {line}"


def _source(figure: Figure) -> str:
    """Return whose the figure is, where that is worth saying."""
    if figure.source == "fails":
        return f"   yours, fails: {', '.join(figure.katas)}"
    if figure.source in ("recorded", "missing"):
        grade = f"not yours yet: grade {' '.join(figure.katas)}" if figure.katas else ""
        return f"   {figure.note if figure.source == 'missing' and figure.note else grade}"
    return ""
