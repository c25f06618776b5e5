"""Confine a fork that runs code of a homework: files, network, memory, processor time, file sizes.

Unlike a grader's worker, tests may read all files, start processes and use temporary files. They can write
below one folder alone.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass

from grader.worker.child.sandbox import hardening, landlock, seccomp
from grader.worker.protocol import system

MEMORY = 4 * 2**30  # bytes of address space in addition to the server's
FILE = 64 * 2**20  # bytes of one file
MORE_PROCESSES = 200  # than the user has now; root has no such limit
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full")


@dataclass(frozen=True)
class Protection:
    """What holds a run back: the version of Landlock, 0 for none, and whether system calls are filtered."""

    landlock_abi: int = 0
    seccomp: bool = False

    @property
    def is_whole(self) -> bool:
        return bool(self.landlock_abi) and self.seccomp


def available() -> Protection:
    """Return what this kernel offers."""
    return Protection(landlock.version(), seccomp.available())


def enter(folder: str, isolation: str, seconds: float, parent: int) -> None:
    """Confine this process, a fork of the server `parent`, to `folder`, where alone it may write."""
    hardening.die_with_parent(parent)
    _limit(seconds)
    if isolation == "none":
        return
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            hardening.drop_capabilities()
    system.no_new_privileges()
    if abi := landlock.version():
        everything = landlock.READ | landlock.EXECUTE
        files = [(path, landlock.WRITE & landlock.ABOUT_FILES) for path in DEVICES]
        with contextlib.suppress(OSError):
            landlock.restrict([("/", everything), *files, (folder, landlock.OWN)], abi)
    if seccomp.available():
        with contextlib.suppress(OSError):
            seccomp.restrict(tests=True)


def _limit(seconds: float) -> None:
    if sys.platform == "win32":
        return
    import resource as r

    limits = {r.RLIMIT_FSIZE: FILE, r.RLIMIT_CORE: 0}
    if size := system.address_space():
        limits[r.RLIMIT_AS] = size + MEMORY
        limits[r.RLIMIT_NPROC] = _own_processes() + MORE_PROCESSES
    for which, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # a lower limit is in force already
            r.setrlimit(which, (most, most))
    cpu = int(seconds) + 1
    with contextlib.suppress(ValueError, OSError):
        r.setrlimit(r.RLIMIT_CPU, (cpu, cpu + 1))  # at the first, a signal that tells it from other ends


def _own_processes() -> int:
    """Return how many threads the user has; the limit counts all of them."""
    count = 0
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
    return count
