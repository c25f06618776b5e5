"""Limits of the process that judges: what a law, a comparison or a message may take, for one submission.

What comes back from a submission is bounded before it is built; what a law makes of it is not. The clock
counts this process's own CPU time, and the limit of memory holds for what is allocated while it judges.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from grader.worker.child.sandbox.limits import address_space

MEMORY = 400 * 2**20  # bytes of address space beyond what the process has already


class JudgingStopped(BaseException):
    """Judging has taken too long. No law may catch it, so it is no Exception."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise JudgingStopped inside after so many CPU seconds, and MemoryError beyond the limit of memory.
    Where the system has no such limits, or outside of the main thread, there is none."""
    with _clock(seconds), _memory():
        yield


@contextlib.contextmanager
def _clock(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # the signature is Python's
        raise JudgingStopped

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def _memory() -> Iterator[None]:
    used = address_space()
    if not used:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = used + MEMORY
    if resource.RLIM_INFINITY not in (soft, most):
        most = min(soft, most)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
