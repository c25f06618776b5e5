"""Read single keys and lines from the terminal."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any

END = "\x04"  # Ctrl-D, or the end of the input


def has_keyboard() -> bool:
    """True if a person can press keys and read answers here."""
    has_termios = importlib.util.find_spec("termios") is not None
    return has_termios and sys.stdin.isatty() and sys.stdout.isatty()


class Keyboard:
    """The keys of the terminal, one at a time and without an echo while the context is open."""

    def __enter__(self) -> Keyboard:
        import termios

        self._file = sys.stdin.fileno()
        self._before: list[Any] = termios.tcgetattr(self._file)
        self._read_keys()
        return self

    def __exit__(self, *_: object) -> None:
        self._read_lines()

    def key(self, seconds: float) -> str | None:
        """Return the next key, or None if none is pressed within so many seconds."""
        if not select.select([self._file], [], [], seconds)[0]:
            return None
        read = os.read(self._file, 1)  # what is typed ahead stays for the next question
        if read == b"\x1b":  # an arrow or another key that sends several characters
            while select.select([self._file], [], [], 0)[0]:
                os.read(self._file, 1)
        return read.decode(errors="replace") or END

    @property
    def is_pending(self) -> bool:
        """True if a key was pressed that is not read yet."""
        return bool(select.select([self._file], [], [], 0)[0])

    def line(self, question: str) -> str:
        """Return what is typed up to Enter; nothing at the end of the input."""
        with self.lent():
            sys.stdout.write(question)  # input() would write it to standard error
            sys.stdout.flush()
            return sys.stdin.readline().strip()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Give the terminal to an editor or to a question, as it was before."""
        self._read_lines()
        try:
            yield
        finally:
            self._read_keys()

    def _read_keys(self) -> None:
        import tty

        tty.setcbreak(self._file)
        signal.signal(signal.SIGCONT, lambda *_: self._read_keys())  # after Ctrl-Z the shell has set it back

    def _read_lines(self) -> None:
        import termios

        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)
