"""The sections of what is shown: sentences and figures, which the page and the text both render."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from grader.report import PictureKind
from grader.see.tracing import Source, Step, Value, plain

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


def figure_of(
    step: Step,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    kind: PictureKind = "matrix",
    place: int = 0,
    at: tuple[int, ...] = (),
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
