"""One thread a process. A library that counts on more ends the process when it cannot start them."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

SETTERS = {
    "openblas": ("openblas_set_num_threads", "openblas_set_num_threads64_"),
    "mkl_rt": ("MKL_Set_Num_Threads",),
    "blis": ("bli_thread_set_num_threads",),
}


def do_without() -> None:
    """Tell every library of linear algebra in this process to compute in the calling thread."""
    for path in _mapped_libraries():
        family = next((name for name in SETTERS if name in os.path.basename(path)), None)
        if family is not None:
            with contextlib.suppress(OSError):
                _tell(ctypes.CDLL(path), SETTERS[family])


def _tell(library: ctypes.CDLL, setters: tuple[str, ...]) -> None:
    for name in (*setters, *(f"scipy_{setter}" for setter in setters)):
        setter = getattr(library, name, None)
        if setter is not None:
            setter(1)


def _mapped_libraries() -> Iterator[str]:
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        yield from sorted({line.split(maxsplit=5)[5].strip() for line in maps if ".so" in line})
