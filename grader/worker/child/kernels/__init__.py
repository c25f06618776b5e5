"""Run kernels that are written for Triton: the modules `triton`, `triton.language` and its `math`, in NumPy.

A submission imports them and needs neither. The memory that kernels work on is not here: every load and
store asks the grader, which holds the arrays, checks the indices and counts the bytes. So a kernel has the
numbers that it has loaded, and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import FrameType
from typing import Any

NAMES = ("triton", "triton.language", "triton.language.math")


@cache
def modules() -> dict[str, Any]:
    """Return what stands for Triton, by name. It is imported when it is first asked for: the course's files
    need it seldom."""
    from grader.worker.child.kernels import language

    return dict(zip(NAMES, (language.triton, language.language, language.language.math), strict=True))


@contextmanager
def importable(source: str) -> Iterator[None]:
    """Let code whose source names Triton import it from here while the block runs, also where the real one is
    installed. Behind the block nothing finds it here: PyTorch would take it for the real one."""
    found = modules() if "triton" in source else {}
    before = {name: sys.modules.get(name) for name in found}
    sys.modules.update(found)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def _is_asked_by(package: str) -> bool:
    """Return whether a module of this package is the one that imports."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package


class Finder(MetaPathFinder):
    """Finds `triton` where it is not installed, in a Python that a student or an author has started; but not
    for PyTorch, which asks whether Triton is there."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if name not in NAMES or _is_asked_by("torch"):
            return None
        return spec_from_loader(name, self)  # type: ignore[arg-type]  # a finder and a loader

    def create_module(self, spec: ModuleSpec) -> Any:
        return modules()[spec.name]

    def exec_module(self, module: Any) -> None:
        """Do nothing: the module is complete."""
