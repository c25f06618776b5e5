"""Hide the environment and the command line of a process, and drop its privileges."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

from grader.worker.protocol import system_calls
from grader.worker.protocol.terms import environment

CAPABILITIES_VERSION = 0x20080522


def forget_environment() -> None:
    """Remove the command line and all other environment variables, and overwrite their memory with zeros,
    because a submission can read all memory of its own process."""
    kept = environment()
    if system_calls.LINUX:
        for value in getattr(os.environ, "_data", {}).values():
            _overwrite(value)
        system_calls.overwrite_environment()
        _overwrite_initial_stack()
    os.environ.clear()
    os.environ.update(kept)
    sys.argv[:], sys.orig_argv[:] = [""], [""]


def _overwrite(value: object) -> None:
    """Overwrite the memory of a bytes object with zeros, unless Python may share it: it shares single
    bytes."""
    if type(value) is bytes and len(value) > 1:
        ctypes.memset(id(value) + bytes.__basicsize__ - 1, 0, len(value))


def _overwrite_initial_stack() -> None:
    """Overwrite the top of the stack, where the kernel stores the command line and the environment."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
        arguments, _, _, end = map(int, fields[45:49])
        if 0 < arguments < end:
            ctypes.memset(arguments, 0, end - arguments)


def drop_capabilities() -> bool:
    """Drop root's capabilities, such as reading and ending any process. Return False on an unknown machine.
    Raises OSError."""
    numbers = {"x86_64": 126, "aarch64": 91}
    if system_calls.MACHINE not in numbers:
        return False
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    system_calls.call(numbers[system_calls.MACHINE], ctypes.byref(header), ctypes.byref(nothing))
    return True
