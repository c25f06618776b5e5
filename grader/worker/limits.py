"""What a worker takes from itself before it loads a submission. The kernel sandbox has its place here."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from dataclasses import asdict, dataclass
from typing import Any

MEMORY_LIMIT = 2 * 2**30  # bytes of address space beyond what the warm server holds
FILE_LIMIT = 16 * 2**20
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class InForce:
    """Which protections really hold in this worker."""

    process: bool = True
    landlock_abi: int = 0
    seccomp: bool = False
    limits: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def lock_in(on_cuda: bool = False) -> InForce:
    """Apply every protection this platform has, and say which. A CUDA context maps far more address
    space than it uses, so the memory limit is left out there."""
    if sys.platform == "win32":
        return InForce()
    _die_with_parent()
    return InForce(limits=_limit_resources(on_cuda))


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_resources(on_cuda: bool) -> bool:
    import resource

    held = _address_space()
    if held and not on_cuda:
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY_LIMIT,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return bool(held) and not on_cuda


def _address_space() -> int:
    """Bytes of address space in use, 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
