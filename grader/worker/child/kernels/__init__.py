"""Run kernels that are written for Triton: the modules `triton`, `triton.language` and its `math`, in NumPy.

A submission imports them and needs neither. The memory that kernels work on is not here: every load and
store asks the grader, which holds the arrays, checks the indices and counts the bytes. So a kernel has the
numbers that it has loaded, and nothing else.
"""

from __future__ import annotations

import builtins
import sys
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


def give_to(namespace: dict[str, Any], source: str) -> None:
    """Let the code that runs in `namespace` import Triton from here if its source names it, also where the
    real one is installed. Nothing else finds it here: PyTorch would take it for the real one."""
    if "triton" in source:
        namespace["__builtins__"] = {**vars(builtins), "__import__": _import}


def let_in(function: Any) -> None:
    """Let kernels call a function of the grader's, which records their values, if there are kernels."""
    if modules.cache_info().currsize:
        # through what is loaded: in a closed sandbox nothing of the grader can be imported
        modules()["triton"].jit().recorders.add(function)


def _import(name: str, *terms: Any, **named: Any) -> Any:
    """Import as Python does, but Triton from here."""
    if name not in NAMES:
        return builtins.__import__(name, *terms, **named)
    listed = terms[2] if len(terms) > 2 else named.get("fromlist")  # as in `from name import listed`
    return modules()[name if listed else NAMES[0]]


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
