"""Record which lines of a submission run in a call, and which arrays its local variables hold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

MOST_VALUES = 200
MOST_COMPARISONS = 2000  # of the arguments with what they were
MOST_ENTRIES = 4096  # of one array


class Tracer:
    """Records lines and arrays of the functions of one file; each array is copied when it is assigned."""

    def __init__(self, filename: str, arguments: Any = ()) -> None:
        self.filename = filename
        self.changed = 0  # the first line after which an argument differs; 0 if none does
        self._arguments, self._before, self._last = arguments, _bits(arguments), 0
        self._comparisons = 0
        self.lines: set[int] = set()
        self.values: list[
            list[Any]
        ] = []  # function, name, line and array of each assignment; no name for results
        #: By frame, the last value of each variable, and what changes if it is changed in place.
        self._known: dict[int, tuple[FrameType, dict[str, tuple[Any, Any]]]] = {}
        self._line: dict[int, int] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self.filename:
            return None
        self._compare()
        if event == "call":
            self._known[id(frame)] = frame, _held(frame)
            self.lines.add(frame.f_lineno)
        else:
            self._note(frame)
        if event == "return":  # if the function raises, `argument` is None and nothing is kept
            self._keep(frame, "", argument)
            caller = frame.f_back
            if caller is not None and caller.f_code.co_filename == self.filename:
                self._last = caller.f_lineno
        if event == "line":
            self._last = frame.f_lineno
            self.lines.add(frame.f_lineno)
            self._line[id(frame)] = frame.f_lineno
        return self

    def _compare(self) -> None:
        """Record the last line if an argument differs after it."""
        self._comparisons += 1
        is_due = self._last and not self.changed and self._comparisons <= MOST_COMPARISONS
        if is_due and _bits(self._arguments) != self._before:
            self.changed = self._last

    def _note(self, frame: FrameType) -> None:
        """Record the variables that the last line has assigned, or changed in place."""
        held, known = _held(frame), self._known.setdefault(id(frame), (frame, {}))[1]
        new = {name: now for name, now in held.items() if not _is_same(known.get(name), now)}
        known.update(new)
        for name, (value, _) in new.items():
            self._keep(frame, name, value)

    def _keep(self, frame: FrameType, name: str, value: Any) -> None:
        copied = _copied(value)
        if copied is not None and len(self.values) < MOST_VALUES:
            line = self._line.get(id(frame), frame.f_lineno)
            self.values.append([frame.f_code.co_qualname, name, line, copied])

    def message(self) -> dict[str, Any]:
        """Return what was recorded, as `Outcome.trace` holds it."""
        return {"lines": sorted(self.lines), "values": self.values, "changed": self.changed}


def with_trace(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], filename: str) -> Any:
    """Call the function and record what runs. Return its result (None if it raises), and the recorded lines
    and values in the form of `Outcome.trace`."""
    tracer, value = Tracer(filename, [*args, *kwargs.values()]), None
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        value = function(*args, **kwargs)
    except Exception:  # the values before it are of use
        pass
    finally:
        sys.settrace(before)
    return value, tracer.message()


def _held(frame: FrameType) -> dict[str, tuple[Any, Any]]:
    return {name: (value, _version(value)) for name, value in frame.f_locals.items()}


def _version(value: Any) -> Any:
    """Return the bytes of an array, or how often a tensor was changed in place."""
    if type(value) is np.ndarray:
        return value.tobytes() if value.size <= MOST_ENTRIES else b""
    return getattr(value, "_version", 0) if type(value).__module__ == "torch" else 0


def _bits(tree: Any) -> Any:
    """Return the bits of the arrays, tensors and plain values in lists and dicts."""
    if type(tree) in (list, tuple):
        return [_bits(item) for item in tree]
    if type(tree) is dict:
        return {key: _bits(item) for key, item in tree.items()}
    if type(tree) is np.ndarray:
        return tree.tobytes()
    torch = sys.modules.get("torch")
    if torch is not None and type(tree) is torch.Tensor and tree.layout is torch.strided and not tree.is_meta:
        return tree.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return tree if type(tree) in (bool, int, float, str) else None


def _is_same(before: tuple[Any, Any] | None, now: tuple[Any, Any]) -> bool:
    return before is not None and before[0] is now[0] and before[1] == now[1]


def _copied(value: Any) -> Any:
    """Return a copy of an array or tensor that is not too large; None for anything else."""
    if type(value) is np.ndarray and value.size <= MOST_ENTRIES and value.dtype.kind in "biuf":
        return value.copy()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.numel() <= MOST_ENTRIES:
        return value.detach().clone() if value.layout is torch.strided and not value.is_meta else None
    return None
