"""The keyboard of the loop: read keys and lines, describe the keys, and lend the terminal to an editor."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from grader.texts.wrapping import words

END = "\x04"  # Ctrl-D, or the end of the input
ESCAPE, ENTER, DELETE = "\x1b", ("\n", "\r"), ("\x7f", "\b")


def has_keyboard() -> bool:
    """True if a person can press keys and read answers here."""
    has_termios = importlib.util.find_spec("termios") is not None
    return has_termios and sys.stdin.isatty() and sys.stdout.isatty()


class Keyboard:
    """The keys of the terminal, one at a time and without an echo while the context is open."""

    def __enter__(self) -> Keyboard:
        import termios

        self._ahead: list[str] = []  # keys that were typed while something was graded
        self._file = sys.stdin.fileno()
        self._before: list[Any] = termios.tcgetattr(self._file)
        self._read_keys()
        return self

    def __exit__(self, *_: object) -> None:
        self._read_lines()

    def key(self, seconds: float | None) -> str | None:
        """Return the next key, or None if none is pressed within so many seconds; "" for an arrow and the
        like."""
        return self._ahead.pop(0) if self._ahead else self._key(seconds)

    def _key(self, seconds: float | None) -> str | None:
        if not select.select([self._file], [], [], seconds)[0]:
            return None
        read = os.read(self._file, 1)  # what is typed ahead stays for the next question
        if read == b"\x1b":  # an arrow or another key that sends several characters
            more = 0
            while select.select([self._file], [], [], 0)[0]:
                more += len(os.read(self._file, 1))
            return ESCAPE if not more else ""
        return read.decode(errors="replace") or END

    def stops(self) -> bool:
        """Return whether Esc was pressed; other keys stay for later."""
        while (key := self._key(0)) is not None:
            if key == ESCAPE:
                return True
            self._ahead.append(key)
            if key == END:
                break
        return False

    @property
    def is_pending(self) -> bool:
        """True if a key was pressed that is not read yet."""
        return bool(self._ahead) or bool(select.select([self._file], [], [], 0)[0])

    def line(self, question: str) -> str:
        """Return what is typed up to Enter; nothing after Esc and at the end of the input."""
        typed, shown = "", question
        while True:
            sys.stdout.write(shown)
            sys.stdout.flush()
            pressed, shown = self.key(None) or "", ""
            if pressed in (ESCAPE, END, *ENTER):
                sys.stdout.write("\n")
                return typed.strip() if pressed in ENTER else ""
            if pressed in DELETE:
                typed, shown = typed[:-1], "\b \b" if typed else ""
            elif pressed.isprintable():
                typed, shown = typed + pressed, pressed

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


BY_OPTION = {"code", "code-insiders", "codium", "cursor"}  # open a window: code -g FILE:LINE
BY_SUFFIX = {"subl", "zed", "hx", "helix"}  # FILE:LINE
WINDOWS = BY_OPTION | {"subl", "zed"}


def command(path: Path, line: int) -> list[str]:
    """Return the command that opens a file at a line: `code` in its own terminal, else $VISUAL, $EDITOR, or
    `code` if it is installed. Empty if there is no editor."""
    code = shutil.which("code")
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if code and (os.environ.get("TERM_PROGRAM") == "vscode" or not chosen):
        chosen = shlex.quote(code)
    words = shlex.split(chosen)
    if not words:
        return []
    name = Path(words[0]).stem
    if name in BY_OPTION:  # without `--wait`, which is meant for commit messages
        return [words[0], "-g", f"{path}:{line}"]
    return [*words, f"{path}:{line}"] if name in BY_SUFFIX else [*words, f"+{line}", str(path)]


def open_editor(path: Path, line: int, terminal: AbstractContextManager[None]) -> str:
    """Open the file, in `terminal` if the editor needs one. Return what went wrong, or ""."""
    words = command(path, line)
    if not words:
        return f"There is no editor: set the variable EDITOR. The place is {path}:{line}"
    try:
        if Path(words[0]).stem in WINDOWS:
            subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        else:
            with terminal:
                subprocess.run(words, check=False)
    except OSError:
        return f"The editor `{words[0]}` cannot be started. The place is {path}:{line}"
    return ""


def open_page(path: Path) -> str:
    """Open a page in the browser. Return what to do if there is none on this machine, or ""."""
    if open_address(path.absolute().as_uri()):
        return ""
    return f"No browser can be started here; open {path.absolute()} in one."


def open_address(address: str) -> bool:
    """Open an address in the browser, and return whether there is one on this machine."""
    import webbrowser

    has_screen = sys.platform == "darwin" or any(
        map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    )
    return has_screen and webbrowser.open(address)  # elsewhere it may start one in the terminal


Loop = TypeVar("Loop")


@dataclass(frozen=True)
class Key(Generic[Loop]):
    """One key: its character, the word for it, a sentence about it and what it does. `refusal` returns why it
    cannot be used now, "" if it can."""

    character: str
    word: str
    about: str
    action: Callable[[Loop], None]
    refusal: Callable[[Loop], str] = lambda _: ""

    @property
    def label(self) -> str:
        """What stands on the key."""
        return "Enter" if self.character in ENTER else self.character

    def press(self, loop: Loop) -> str:
        """Do what the key does, or return why it cannot be used now."""
        refusal = self.refusal(loop)
        if not refusal:
            self.action(loop)
        return refusal


def footer(keys: Sequence[Key[Loop]], loop: Loop, width: int) -> str:
    """Return the keys that can be used now, each with its word; a word may refer to the loop as `{0}`."""
    offered = [key for key in keys if not key.refusal(loop)]
    pairs = [f"{key.label} {key.word.format(loop)}".replace(" ", "\xa0") for key in offered]
    return "\n".join(words("   ".join(pairs), width)).replace("\xa0", " ")


def help_text(keys: Sequence[Key[Loop]], width: int) -> str:
    """Return one line about each key, or more if it is too long."""
    lines = (words(key.about, width, f"  {key.label:<5}  ", " " * 9) for key in keys)
    return "\n".join(line for wrapped in lines for line in wrapped)
