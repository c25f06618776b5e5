"""System calls that Python does not offer, by ctypes."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

LINUX = sys.platform == "linux"
MACHINE = platform.machine().lower() if LINUX else ""
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38

_libc = ctypes.CDLL(None, use_errno=True) if LINUX else None


def call(number: int, *arguments: int | ctypes._CArgObject | ctypes.Array[ctypes.c_char] | None) -> int:
    """The system call of that number. Raises OSError."""
    assert _libc is not None
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def control(option: int, value: int) -> bool:
    """`prctl` with one argument; whether it worked."""
    return _libc is not None and int(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)) == 0


def overwrite_environment() -> None:
    """Zeros over every variable that C code knows of, then forget them."""
    assert _libc is not None
    variables = ctypes.POINTER(ctypes.c_void_p).in_dll(_libc, "environ")
    position = 0
    while variables and variables[position]:
        address = ctypes.c_void_p(variables[position])
        ctypes.memset(address, 0, _libc.strlen(address))
        position += 1
    _libc.clearenv()


def no_new_privileges() -> bool:
    """No program that is executed from here on gains rights; a filter may not be installed without."""
    return control(PR_SET_NO_NEW_PRIVS, 1)
