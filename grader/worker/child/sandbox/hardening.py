"""What a process knows that is nobody's business: variables, command line, rights; and who may look in."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

from grader.worker.child.sandbox import system

#: Variables that a submission's process keeps: language and time, and where libraries and GPUs are.
KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT", "PATH")
#: One thread a process: the inputs are small, and the sandbox lets nobody start another.
SET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_CACHE_DISABLE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "USER": "student",
    "LOGNAME": "student",
}
CAPABILITIES_VERSION = 0x20080522


def hide() -> bool:
    """Nobody but root may read this process's memory, open its descriptors or attach a debugger."""
    return system.control(system.PR_SET_DUMPABLE, 0)


def die_with_parent(parent: int | None = None) -> None:
    """End when the process that started this one ends, even if it has ended already."""
    if system.control(system.PR_SET_PDEATHSIG, signal.SIGKILL) and parent not in (None, os.getppid()):
        os._exit(0)


def environment() -> dict[str, str]:
    """The variables that a submission's process has."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **SET}


def forget_environment() -> None:
    """Keep of the environment and of the command line what is listed; overwrite the rest where it lies,
    since a submission can read all memory of its own process."""
    kept = environment()
    if system.LINUX:
        for value in getattr(os.environ, "_data", {}).values():
            _overwrite(value)
        system.overwrite_environment()
        _overwrite_as_started()
    os.environ.clear()
    os.environ.update(kept)
    sys.argv[:], sys.orig_argv[:] = [""], [""]


def _overwrite(value: object) -> None:
    """Zeros in the place of a value that nobody will ask for. A single byte may be anybody's."""
    if type(value) is bytes and len(value) > 1:
        ctypes.memset(id(value) + bytes.__basicsize__ - 1, 0, len(value))


def _overwrite_as_started() -> None:
    """The kernel keeps a process's first arguments and variables in one piece at the top of its stack."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
        arguments, _, _, end = map(int, fields[45:49])
        if 0 < arguments < end:
            ctypes.memset(arguments, 0, end - arguments)


def drop_capabilities() -> bool:
    """What makes root more than an owner of files: the right to read and end any process, and the rest."""
    numbers = {"x86_64": 126, "aarch64": 91}
    if system.MACHINE not in numbers:
        return False
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    system.call(numbers[system.MACHINE], ctypes.byref(header), ctypes.byref(nothing))
    return True
