"""Show on a terminal which kata and check are judged, and since when."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import click

from grader.texts.escaping import one_line

SHOWN_SECONDS = 0.3  # between two states of a progress line
LONG_SECONDS = 6.0  # of one check, until the key that stops it is shown
LEAST_CHECK_SHOWN = 12  # characters of what is done


class Progress:
    """Shows on a terminal which kata and check are judged, and since when, while the context is open. After a
    while of the same check it names the key that `stops` it."""

    def __init__(self, name: str, doing: Callable[[], str], width: int, *, stops: bool = True) -> None:
        self._name, self._doing, self._width, self._stops = name, doing, width, stops
        self._began = self._since = time.monotonic()
        self._last, self._ends = "", threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Progress:
        if sys.stdout.isatty():
            self._print()
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        if self._thread.ident is not None:
            self._thread.join()
            click.echo("\r\x1b[K", nl=False, color=True)

    def _show(self) -> None:
        while not self._ends.wait(SHOWN_SECONDS):
            self._print()

    def _print(self) -> None:
        now, doing = time.monotonic(), self._doing()
        if doing != self._last:
            self._last, self._since = doing, now
        same = now - self._since if self._stops else 0.0
        text = progress_line(self._name, doing, now - self._began, same, self._width)
        click.echo(f"\r\x1b[K{text}", nl=False, color=True)


def progress_line(name: str, doing: str, seconds: float, same: float, width: int) -> str:
    """Return which kata is judged since when, and which check; after a while of the same, which key ends it.
    Some terminals begin a new line behind the last column, so that stays free."""
    is_long = same >= LONG_SECONDS
    since = f" {seconds:.0f} s" if seconds >= 1 else ""
    lead = f"{name} …{since}{' An endless loop? Esc stops it.' if is_long else ''}"
    room = width - len(lead) - 2
    return f"{lead} {one_line(doing, room)}" if doing and room > LEAST_CHECK_SHOWN else lead[: width - 1]
