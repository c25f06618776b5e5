"""Draw the pictures of a report, as text or as SVG. Pure Python; imported only if something is drawn."""

from __future__ import annotations

import re
from math import isfinite

from grader.report import Picture

AXIS = re.compile(r"[a-z_]+ \d+")  # the label of an index of a named axis


def short_label(label: str, room: int = 0) -> str:
    """Return a label such as `query 3` as `q3` if it has more than `room` characters."""
    return f"{label[0]}{label.rpartition(' ')[2]}" if len(label) > room and AXIS.fullmatch(label) else label


def largest_size(picture: Picture) -> float:
    """Return the largest absolute value of the finite numbers in all panels, or 1 if they are all 0."""
    sizes = [abs(v) for panel in picture.panels for row in panel.values for v in row if isfinite(v)]
    return max(sizes, default=0.0) or 1.0
