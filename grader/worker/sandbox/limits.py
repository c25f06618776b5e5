"""Resources that a worker may use: the part of the sandbox that every Unix has."""

from __future__ import annotations

import contextlib
import os
import sys

MEMORY = 2 * 2**30  # bytes of address space beyond what the warm server holds
FILE = 16 * 2**20  # bytes of one file
DESCRIPTORS = 256
SECONDS = 300  # of a processor: an end for a worker whose grader was stopped


def restrict(gpu: bool = False) -> bool:
    """Set every limit; whether memory is limited too. A CUDA context maps far more address space than it
    uses, and starts threads, so that these two limits are left out there."""
    if sys.platform == "win32":
        return False
    import resource as r

    held = _address_space()
    limits = {r.RLIMIT_FSIZE: FILE, r.RLIMIT_CORE: 0, r.RLIMIT_NOFILE: DESCRIPTORS, r.RLIMIT_CPU: SECONDS}
    if not gpu:
        limits[r.RLIMIT_NPROC] = 0  # no further process or thread; root is not bound by it
        limits |= {r.RLIMIT_AS: held + MEMORY} if held else {}
    for which, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # less is allowed already
            r.setrlimit(which, (most, most))
    return bool(held) and not gpu


def _address_space() -> int:
    """Bytes of address space in use, 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
