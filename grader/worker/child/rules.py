"""Refuse the library functions that a kata asks students to build, while a submission runs."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import Any


class RuleBroken(Exception):
    """The submission calls a function that the kata asks it to build."""


def refuse_while_running(forbidden: Iterable[str]) -> None:
    """Replace every forbidden function or method of an installed library by one that raises RuleBroken."""
    for dotted in forbidden:
        path, _, name = dotted.rpartition(".")
        try:
            owner = _import(path)
            original = getattr(owner, name)
        except (ImportError, AttributeError):
            continue
        setattr(owner, name, _raising(dotted, original))


def _import(path: str) -> Any:
    """Return the module, or the class in a module, with that dotted name. Raises ImportError,
    AttributeError."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        if not module:
            raise
        return getattr(_import(module), name)


def _raising(dotted: str, original: Any) -> Any:
    @functools.wraps(original, updated=())
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise RuleBroken(f"{dotted} is what this kata asks you to build")

    return refuse
