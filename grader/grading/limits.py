"""Limit the CPU time and the memory that the grader itself spends on one submission.

The size of an answer is limited before it is decoded, but what a law computes from it is not. The time limit
counts this process's CPU time. The memory limit covers what is allocated while judging.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from grader.worker.protocol.system import address_space

MEMORY = 400 * 2**20  # bytes of address space beyond what the process has already


class JudgingStopped(BaseException):
    """Judging took too long. It is a BaseException, so that `except Exception` in a law cannot catch it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise JudgingStopped in the block after so many CPU seconds, and MemoryError beyond the memory limit.
    There is no limit on systems without these features; the time limit needs the main thread."""
    with time_limit(seconds, _stop), _memory_limit():
        yield


def _stop(_frame: FrameType | None) -> None:
    raise JudgingStopped


@contextlib.contextmanager
def time_limit(seconds: float, on_timeout: Callable[[FrameType | None], None]) -> Iterator[None]:
    """Call `on_timeout` with the running frame after so many CPU seconds in the block. It raises what ends
    the block. There is no limit on systems without timers, and none outside of the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # Python defines this signature
        on_timeout(frame)

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def _memory_limit() -> Iterator[None]:
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
