"""The command of a new interpreter, and how a process is ended: it is waited for, asked, and killed with its
group, each for a time of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

WAIT_SECONDS, ASK_SECONDS, KILL_SECONDS = 5.0, 1.0, 5.0  # for each step

PACKAGES = ("site-packages", "dist-packages")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # where `grader` lies
#: `-I` leaves out the current folder, which may be a student's, and the packages of this user, which may be
#: where the grader is installed.
START = """
import json, sys
sys.path += [path for path in json.loads(sys.argv.pop(1)) if path not in sys.path]
from {module} import {function} as start
globals().pop("start")()
"""


def interpreter(module: str, function: str, *arguments: str) -> list[str]:
    """Return the command that calls a function of the grader's in a new interpreter."""
    paths = json.dumps([path for path in sys.path if os.path.basename(path) in PACKAGES] + [ROOT])
    return [sys.executable, "-I", "-c", START.format(module=module, function=function), paths, *arguments]


def ending(pid: int, wait: float = WAIT_SECONDS, ask: float = ASK_SECONDS) -> Iterator[float]:
    """Yield for how many seconds to wait for the end of a process after each step, until it has ended: it may
    end by itself, is asked to, and is killed. The last two reach the whole group that it leads. A step of 0
    seconds is left out."""
    for seconds, number in ((wait, ""), (ask, "SIGTERM"), (KILL_SECONDS, "SIGKILL")):
        if seconds and number:
            _signal_group(pid, number)
        if seconds:
            yield seconds


def end(
    pid: int, has_ended: Callable[[float], bool], wait: float = WAIT_SECONDS, ask: float = ASK_SECONDS
) -> None:
    """End a process; `has_ended` waits for it for so many seconds, and tells whether it has ended."""
    any(has_ended(seconds) for seconds in ending(pid, wait, ask))


def _signal_group(pid: int, name: str) -> None:
    """Send a signal to the group that a process leads, or to the process if it leads none."""
    number = getattr(signal, name, signal.SIGTERM)  # Windows has no other, and it kills there
    with suppress(ProcessLookupError, PermissionError):
        try:
            os.killpg(pid, number)
        except (AttributeError, ProcessLookupError):
            os.kill(pid, number)
