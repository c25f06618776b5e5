"""Record which lines of a submission run in a call, and after which line its arguments or state differ."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from grader.worker.child.lasting import Label, Snapshot
from grader.worker.protocol.messages import LONGEST_NAME, MOST_KEPT

MOST_SECONDS = 0.2  # of CPU time, in all calls, for comparing the arguments and the state with what they were


class Tracer:
    """Records the lines of the functions of one file, and what the calls of these change."""

    def __init__(self, module: Any, given: list[Any], spent: float) -> None:
        """Begin with the seconds that the tracers of earlier calls have spent on comparing."""
        self.spent, self.filename = spent, module.__file__
        self.lines: set[int] = set()
        self.changed = 0  # the first line after which an argument differs; 0 if none does
        self.kept: dict[Label, int] = {}  # such lines of the variables that outlive the call
        self.trace: dict[str, Any] = {}  # `Outcome.trace`, filled after the call
        self._arguments, self._before, self._last = given, _bits(given), 0
        self._snapshot = partial(Snapshot, module, given)
        self._at_first: Snapshot | None = None

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename != self.filename:
            return None
        if self._last:
            self._compare(self._last)
        if event == "return":
            caller = frame.f_back
            if caller is not None and caller.f_code.co_filename == self.filename:
                self._last = caller.f_lineno
        else:
            self.lines.add(frame.f_lineno)
        if event == "line":
            self._last = frame.f_lineno
        return self

    def _compare(self, line: int) -> None:
        """Record the line if an argument or a variable differs after it."""
        if self._at_first is None or self.spent >= MOST_SECONDS:
            return
        began = time.process_time()
        if not self.changed and _bits(self._arguments) != self._before:
            self.changed = line
        for one in self._at_first.changed():
            at = _first_line(one.holder) if one.label[0] == "results" else line
            if len(self.kept) < MOST_KEPT and len(one.label[1]) <= LONGEST_NAME:
                self.kept.setdefault(one.label, at)
        self.spent += time.process_time() - began

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that records what a call does. It returns None if the call raises."""

        def call(*args: Any, **kwargs: Any) -> Any:
            before = sys.gettrace()
            if self.spent < MOST_SECONDS:
                began = time.process_time()
                self._at_first = self._snapshot()
                self.spent += time.process_time() - began
            sys.settrace(self)
            try:
                return function(*args, **kwargs)
            except Exception:  # what was recorded before it is of use
                return None
            finally:
                sys.settrace(before)
                self._compare(self._last)
                kept = [[kind, name, line] for (kind, name), line in self.kept.items()]
                self.trace |= {"lines": sorted(self.lines), "changed": self.changed, "kept": kept}

        return call


def _first_line(cached: Any) -> int:
    return int(getattr(getattr(cached.__wrapped__, "__code__", None), "co_firstlineno", 0))


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
