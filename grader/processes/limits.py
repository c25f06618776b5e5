"""Limit the CPU time and the memory that the grader itself spends on one submission.

The size of an answer is limited before it is decoded, but what a law computes from it is not. The time limit
counts this process's CPU time. The memory limit covers what is allocated while judging.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from grader.worker.protocol.system_calls import address_space

MEMORY = 400 * 2**20  # bytes of address space beyond what the process has already
AGAIN_SECONDS = 1.0  # of CPU time between two exceptions that end a block
SOON_SECONDS = 0.01  # of CPU time until an exception that Python ignored is raised again
LEAST_SECONDS = 0.001  # of CPU time that is left to a limit around another one


class JudgingStopped(BaseException):
    """Judging took too long. It is a BaseException, so that `except Exception` in a law cannot catch it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise JudgingStopped in the block after so many CPU seconds, and MemoryError beyond the memory limit.
    There is no limit on systems without these features; the time limit needs the main thread."""
    with _memory_limit(), time_limit(seconds, _stop):  # the memory limit ends once nothing can interrupt it
        yield


def _stop(_frame: FrameType | None) -> None:
    raise JudgingStopped


@contextlib.contextmanager
def time_limit(seconds: float, on_timeout: Callable[[FrameType | None], None]) -> Iterator[None]:
    """Call `on_timeout` with the running frame after so many CPU seconds in the block, and again after each
    AGAIN_SECONDS until the block is left. It raises what ends the block. Where Python would ignore and print
    this, as in a callback of the garbage collector, nothing is printed, and it is called again
    SOON_SECONDS later. There is no limit on systems without timers, and none outside of the main thread. A
    limit around this one goes on after the block."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = False
    raised: BaseException | None = None

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # Python defines this signature
        nonlocal raised
        if not is_over:
            try:
                on_timeout(frame)
            except BaseException as stopped:
                raised = stopped
                raise

    def ignored(told: sys.UnraisableHookArgs) -> None:
        if told.exc_value is not raised:
            print_ignored(told)
        elif not is_over:
            signal.setitimer(signal.ITIMER_VIRTUAL, SOON_SECONDS, AGAIN_SECONDS)

    began = time.process_time()
    print_ignored, sys.unraisablehook = sys.unraisablehook, ignored
    before = signal.signal(signal.SIGVTALRM, stop)
    left, again = signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN_SECONDS)
    try:
        yield
    finally:
        is_over = True  # first of all, so that nothing below can be interrupted
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook, raised = print_ignored, None
        if left:
            left = max(left - (time.process_time() - began), LEAST_SECONDS)
            signal.setitimer(signal.ITIMER_VIRTUAL, left, again)


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
    try:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except ValueError:  # a process that is confined keeps the limit that it has
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
