"""Limit the memory, files, processes and CPU time of a worker by `setrlimit`, which every Unix has, and its
threads."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from functools import cache

from grader.worker.protocol import system_calls
from grader.worker.protocol.terms import MEMORY

LARGEST_FILE = 16 * 2**20  # bytes of one file
DESCRIPTORS = 256
SECONDS = 300  # of CPU time, so that a worker ends even if its grader was stopped


def prepare() -> None:
    """Set the limits that forked workers inherit. The fork server does this once for all its workers."""
    if sys.platform == "win32":
        return
    import resource as r

    inherited()
    _set(
        {r.RLIMIT_FSIZE: LARGEST_FILE, r.RLIMIT_CORE: 0, r.RLIMIT_NOFILE: DESCRIPTORS, r.RLIMIT_CPU: SECONDS}
    )
    if "linux" in sys.platform:
        _set({r.RLIMIT_SIGPENDING: 0})  # waiting signals are counted over all processes of a user


def restrict(memory: int = MEMORY, *, gpu: bool = False) -> bool:
    """Set the limits of one worker, and return True if they are in force. They are left out on a GPU, because
    a CUDA context reserves much more address space than it uses and starts threads."""
    if sys.platform == "win32" or gpu or not inherited():
        return False
    import resource as r

    _set({r.RLIMIT_AS: inherited() + memory})
    if "linux" in sys.platform:
        _set({r.RLIMIT_NPROC: 0})  # no more processes or threads, unless the user is root
    return True


def _set(limits: dict[int, int]) -> None:
    import resource

    for which, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # a lower limit is in force already
            resource.setrlimit(which, (most, most))


@cache
def inherited() -> int:
    """Return the bytes of address space of the fork server, measured once and inherited by its workers."""
    return system_calls.address_space()


SETTERS = {
    "openblas": ("openblas_set_num_threads", "openblas_set_num_threads64_"),
    "mkl_rt": ("MKL_Set_Num_Threads",),
    "blis": ("bli_thread_set_num_threads",),
}


def use_one_thread() -> None:
    """Make every linear algebra library in this process compute in the calling thread."""
    for path in system_calls.mapped_libraries():
        family = next((name for name in SETTERS if name in os.path.basename(path)), None)
        if family is not None:
            with contextlib.suppress(OSError):
                _set_threads(ctypes.CDLL(path), SETTERS[family])


def _set_threads(library: ctypes.CDLL, setters: tuple[str, ...]) -> None:
    for name in (*setters, *(f"scipy_{setter}" for setter in setters)):
        setter = getattr(library, name, None)
        if setter is not None:
            setter(1)
