"""Make system calls that Python does not offer, and read what the kernel says about this process."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

LINUX = sys.platform == "linux"
MACHINE = platform.machine().lower() if LINUX else ""
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
SIGKILL = 9  # Windows does not have its name
_libc = ctypes.CDLL(None, use_errno=True) if LINUX else None


def call(number: int, *arguments: int | ctypes._CArgObject | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make the system call with that number and return its result. Raises OSError."""
    assert _libc is not None
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def control(option: int, value: int) -> bool:
    """Call `prctl` with one argument; return True on success."""
    return _libc is not None and int(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)) == 0


def hide_memory() -> bool:
    """Forbid other processes, except root's, to read this process's memory and descriptors or to debug it.
    Return True on success."""
    return control(PR_SET_DUMPABLE, 0)


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when its parent ends. Exit if `parent` has ended already."""
    if control(PR_SET_PDEATHSIG, SIGKILL) and parent not in (None, os.getppid()):
        os._exit(0)


def overwrite_environment() -> None:
    """Overwrite every variable in the C library's environment with zeros, then clear the environment."""
    assert _libc is not None
    variables = ctypes.POINTER(ctypes.c_void_p).in_dll(_libc, "environ")
    position = 0
    while variables and variables[position]:
        address = ctypes.c_void_p(variables[position])
        ctypes.memset(address, 0, _libc.strlen(address))
        position += 1
    _libc.clearenv()


def mapped_libraries() -> list[str]:
    """Return the paths of the shared libraries in the memory of this process."""
    try:
        with open("/proc/self/maps") as maps:
            return sorted({line.split(maxsplit=5)[5].strip() for line in maps if ".so" in line})
    except OSError:
        return []


def no_new_privileges() -> bool:
    """Forbid programs that this process executes to gain rights. Filters require this. Return True on
    success."""
    return control(PR_SET_NO_NEW_PRIVS, 1)


def address_space() -> int:
    """Return the bytes of address space of this process, or 0 if the system does not report it."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
