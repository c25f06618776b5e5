"""Limit libraries to one thread, because the sandbox forbids more and some libraries would then abort."""

from __future__ import annotations

import contextlib
import ctypes
import os

from grader.worker.child.sandbox import system

SETTERS = {
    "openblas": ("openblas_set_num_threads", "openblas_set_num_threads64_"),
    "mkl_rt": ("MKL_Set_Num_Threads",),
    "blis": ("bli_thread_set_num_threads",),
}


def use_one_thread() -> None:
    """Make every linear algebra library in this process compute in the calling thread."""
    for path in system.mapped_libraries():
        family = next((name for name in SETTERS if name in os.path.basename(path)), None)
        if family is not None:
            with contextlib.suppress(OSError):
                _set_threads(ctypes.CDLL(path), SETTERS[family])


def _set_threads(library: ctypes.CDLL, setters: tuple[str, ...]) -> None:
    for name in (*setters, *(f"scipy_{setter}" for setter in setters)):
        setter = getattr(library, name, None)
        if setter is not None:
            setter(1)
