"""Large arrays go beside the channel, through memory that both processes see.

The memory is a memfd of fixed size. It is sealed: whoever holds it can write to it, and cannot shrink it
under a reader, who would be killed by that. What lies there is copied out before it is looked at, so that
it stays what was checked, whatever the other process writes meanwhile.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache

from grader.worker.codec import MAX_BODY

LARGE = 2**20  # bytes of a body from which on the window is worth its pages
FAILED = ctypes.c_void_p(-1).value


class Window:
    """One end. Pages take memory once they are written to, and are gone with the last process.

    The descriptor is closed as soon as the memory is mapped, so that a submission finds none to try its
    luck on; `mmap.mmap` would keep a copy of it.
    """

    def __init__(self, fd: int) -> None:
        access = mmap.PROT_READ | mmap.PROT_WRITE
        self._address = _library().mmap(None, MAX_BODY, access, mmap.MAP_SHARED, fd, 0)
        os.close(fd)
        if self._address == FAILED:
            raise OSError(ctypes.get_errno(), "the shared memory cannot be mapped")
        self.memory = memoryview((ctypes.c_char * MAX_BODY).from_address(self._address)).cast("B")

    def put(self, buffers: list[bytes]) -> None:
        """Lay the buffers down one behind the other."""
        at = 0
        for data in buffers:
            self.memory[at : at + len(data)] = data
            at += len(data)

    def take(self, size: int) -> bytearray:
        """A copy of the first `size` bytes, which are at most MAX_BODY."""
        return bytearray(self.memory[:size])

    def close(self) -> None:
        """Give the memory back."""
        self.memory.release()
        _library().munmap(self._address, MAX_BODY)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


def sealed_memory() -> int | None:
    """A descriptor of fresh memory, None where the system has none that can be sealed; arrays then
    travel in their frames."""
    if "linux" not in sys.platform:
        return None
    import fcntl

    try:
        fd = os.memfd_create("dojo", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError:
        return None
    try:
        os.ftruncate(fd, MAX_BODY)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError:
        os.close(fd)
        return None
    return fd
