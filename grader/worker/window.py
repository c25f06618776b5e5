"""Large arrays go beside the channel, through memory that both processes see.

The memory is a memfd of fixed size. It is sealed: whoever holds it can write to it, and cannot shrink it
under a reader, who would be killed by that. What lies there is copied out before it is looked at, so that
it stays what was checked, whatever the other process writes meanwhile.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys

from grader.worker.codec import MAX_BODY

LARGE = 2**20  # bytes of a body from which on the window is worth its pages


class Window:
    """One end. Pages take memory once they are written to, and are gone with the last process."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._memory: mmap.mmap | None = None

    @property
    def memory(self) -> mmap.mmap:
        """Mapped when it is first asked for: most submissions never hand over anything large."""
        if self._memory is None:
            self._memory = mmap.mmap(self.fd, MAX_BODY)
        return self._memory

    def put(self, buffers: list[bytes]) -> None:
        """Lay the buffers down one behind the other."""
        at = 0
        for data in buffers:
            self.memory[at : at + len(data)] = data
            at += len(data)

    def take(self, size: int) -> bytearray:
        """A copy of the first `size` bytes, which are at most MAX_BODY."""
        return bytearray(memoryview(self.memory)[:size])

    def close(self) -> None:
        """Give back what this end holds."""
        if self._memory is not None:
            self._memory.close()
        os.close(self.fd)


def make_window() -> Window | None:
    """A fresh window, None where the system has no sealed memory; arrays then travel in their frames."""
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
        with contextlib.suppress(OSError):
            os.close(fd)
        return None
    return Window(fd)
