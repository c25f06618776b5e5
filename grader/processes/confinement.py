"""Confine a process that runs code of others with the rights of this user: tests of a homework, or drafts.

Unlike a worker, such a process may start others, use temporary files and read what `reads` names. It can
write below one folder alone, reaches no network, and has limits of memory, processor time and file sizes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from grader.worker.child.sandbox import hardening, landlock, seccomp
from grader.worker.protocol.system_calls import address_space, die_with_parent, no_new_privileges

MEMORY = 4 * 2**30  # bytes of address space in addition to those that the process has
LARGEST_FILE = 64 * 2**20  # bytes of one file
MORE_PROCESSES = 200  # than the user has now
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full")
EVERYTHING = ("/",)


@dataclass(frozen=True)
class Protection:
    """What the kernel offers: the version of Landlock, 0 for none, and whether system calls are filtered."""

    landlock_abi: int = 0
    seccomp: bool = False

    @property
    def is_whole(self) -> bool:
        return bool(self.landlock_abi) and self.seccomp


def available() -> Protection:
    """Return what this kernel offers."""
    return Protection(landlock.version(), seccomp.available())


def enter(
    folder: str, isolation: str, seconds: float, parent: int, *, reads: Iterable[str] = EVERYTHING
) -> Protection:
    """Confine this process, a child of the process `parent`, to `folder`, where alone it may write, and to
    `seconds` of processor time. It may read and execute the files and folders in `reads`. Return what is in
    force: with the isolation "none" the limits alone."""
    die_with_parent(parent)
    _limit(seconds)
    if isolation == "none":
        return Protection()
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            hardening.drop_capabilities()
    no_new_privileges()
    abi, is_filtered = landlock.version(), seccomp.available()
    try:
        if abi:
            landlock.restrict([*map(_readable, reads), *map(_device, DEVICES), (folder, landlock.OWN)], abi)
    except OSError:  # the filter of a container may forbid it
        abi = 0
    try:
        if is_filtered:
            seccomp.restrict(tests=True)
    except OSError:
        is_filtered = False
    return Protection(abi, is_filtered)


def _readable(path: str) -> tuple[str, int]:
    rights = landlock.READ | landlock.EXECUTE
    return path, rights if os.path.isdir(path) else rights & landlock.ABOUT_FILES


def _device(path: str) -> tuple[str, int]:
    return path, landlock.WRITE & landlock.ABOUT_FILES


def _limit(seconds: float) -> None:
    if sys.platform == "win32":
        return
    import resource as r

    limits = {r.RLIMIT_FSIZE: LARGEST_FILE, r.RLIMIT_CORE: 0}
    if size := address_space():
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
