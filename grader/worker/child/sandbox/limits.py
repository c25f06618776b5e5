"""Resources that a worker may use: the part of the sandbox that every Unix has."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import cache

MEMORY = 2 * 2**30  # bytes of address space beyond what the warm server holds
FILE = 16 * 2**20  # bytes of one file
DESCRIPTORS = 256
SECONDS = 300  # of a processor: an end for a worker whose grader was stopped


def prepare() -> None:
    """Limits that forked workers inherit. The warm server sets them once, for all of them."""
    if sys.platform == "win32":
        return
    import resource as r

    inherited()
    _set({r.RLIMIT_FSIZE: FILE, r.RLIMIT_CORE: 0, r.RLIMIT_NOFILE: DESCRIPTORS, r.RLIMIT_CPU: SECONDS})


def restrict(gpu: bool = False) -> bool:
    """The limits that are a worker's own; whether they hold. A CUDA context maps far more address space
    than it uses, and starts threads, so that they are left out there."""
    if sys.platform == "win32" or gpu or not inherited():
        return False
    import resource as r

    _set({r.RLIMIT_AS: inherited() + MEMORY})
    if "linux" in sys.platform:
        _set({r.RLIMIT_NPROC: 0})  # no further process or thread; root is not bound by it
    return True


def _set(limits: dict[int, int]) -> None:
    import resource

    for which, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # less is allowed already
            resource.setrlimit(which, (most, most))


@cache
def inherited() -> int:
    """The address space of the warm server, measured once: forked workers begin with as much."""
    return address_space()


def address_space() -> int:
    """Return the bytes of address space that this process uses, 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
