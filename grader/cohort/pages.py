"""Imported last by the process that graders are forked from, whose memory it gathers in large pages.

A fork copies an entry for every page that a process has written, and its end removes them again: with PyTorch
loaded that is some 37,000 pages of 4 KiB, twice for each submission. In pages of 2 MiB they are a few dozen.
What is written after a fork is copied in small pages, as ever.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MADV_COLLAPSE = 25  # Linux 6.1, include/uapi/asm-generic/mman-common.h
LARGE = 2 << 20
OWN = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ \S+ *(?:\[heap\])?$", re.MULTILINE)


def gather() -> int:
    """Gather this process's own memory; how many large pages it has made, 0 where the kernel makes none."""
    if sys.platform != "linux":
        return 0
    try:
        advise, maps = ctypes.CDLL(None).madvise, Path("/proc/self/maps").read_text()
    except (OSError, AttributeError):  # a C library without it, or a container without /proc
        return 0
    advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return sum(advise(start, LARGE, MADV_COLLAPSE) == 0 for start in _large_pages(maps))


def _large_pages(maps: str) -> Iterator[int]:
    """Where a large page would begin that lies within one mapping of written memory."""
    for begin, end in OWN.findall(maps):
        first = -(-int(begin, 16) // LARGE) * LARGE
        yield from range(first, int(end, 16) - LARGE + 1, LARGE)


GATHERED = gather()
