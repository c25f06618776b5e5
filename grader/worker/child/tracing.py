"""Record which lines of a submission run in a call, and after which line its arguments or state differ.

Find the values of a submission that outlive a call, tell which of them a call changes, and put them back.

These are globals, default arguments, attributes of functions, classes and objects, variables of outer
functions, results kept by `functools.cache`, and the modes of the libraries.
"""

from __future__ import annotations

import copy
import random
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from grader.worker.child.memory import SET_BY_PYTHON
from grader.worker.protocol.messages import LONGEST_NAME, MOST_KEPT

MOST_VALUES = 4000  # that one look at a submission takes in
MOST_ENTRIES = 4096  # of an array that is compared
MOST_ITEMS = 64  # of a list or dict that are compared
MOST_NESTED = 3
#: Calls of a module that are made to change it.
MADE_TO_CHANGE = {"load_state_dict", "train", "eval", "double", "float", "half", "to"}

Label = tuple[str, str]  # the kind of a variable, and its name; "" for keys such as `vars(self)["3 rows"]`


@dataclass(frozen=True)
class Lasting:
    """A variable that outlives a call: its label, what holds it and under which key, and its value."""

    label: Label
    holder: Any
    key: Any
    value: Any

    @property
    def at(self) -> tuple[int, Any]:
        return id(self.holder), self.key

    @property
    def version(self) -> Any:
        """What differs if the value is another one, or is changed in place."""
        if self.label[0] != "random":
            return _version(self.value)
        arrays = self.value[1:3] if self.label[1] == "numpy" else [self.value]
        return [value.tolist() if hasattr(value, "tolist") else value for value in arrays]

    def put(self, value: Any) -> None:
        """Bind the variable to another value."""
        if self.label[0] in ("mode", "random"):
            self.holder(value)
        elif self.label[0] == "results":
            self.holder.cache_clear()
        elif isinstance(self.holder, dict):
            self.holder[self.key] = value
        elif isinstance(self.holder, types.CellType):
            self.holder.cell_contents = value
        elif isinstance(self.holder, types.FunctionType):
            held = list(self.holder.__defaults__ or ())
            held[self.key] = value
            self.holder.__defaults__ = tuple(held)
        else:
            setattr(self.holder, self.key, value)

    def remove(self) -> None:
        """Remove the variable from its holder."""
        if isinstance(self.holder, dict):
            self.holder.pop(self.key, None)
        elif isinstance(self.holder, type):
            delattr(self.holder, self.key)


class Snapshot:
    """The variables that outlive a call, and what changes if one of them is changed."""

    def __init__(self, module: Any, objects: Any) -> None:
        self._module, self._objects = module, objects
        self._before = {one.at: (one, one.version) for one in self._now()}

    def _now(self) -> Iterator[Lasting]:
        walk = _VariableWalk(self._module)
        for one in walk.all(self._objects):
            yield one
            walk.left -= 1
            if not walk.left:
                return

    def changed(self) -> Iterator[Lasting]:
        """Yield the variables that differ now, as they are now."""
        for one in self._now():
            before = self._before.get(one.at)
            if before is None or before[1] != one.version:
                yield one

    def copies(self, labels: set[Label]) -> dict[tuple[int, Any], Any]:
        """Return copies of the values of some variables."""
        held = {at: one.value for at, (one, _) in self._before.items() if one.label in labels}
        return {at: _copied(value) for at, value in held.items()}

    def put_back(self, labels: set[Label], copies: dict[tuple[int, Any], Any]) -> None:
        """Put back what has changed of some variables."""
        for one in [one for one in self.changed() if one.label in labels]:
            with suppress(Exception):
                if one.at in copies:
                    one.put(copies[one.at])
                else:
                    one.remove()


@contextmanager
def undoing(labels: set[Label], module: Any, objects: Any) -> Iterator[None]:
    """Put back what a call in the block changes of some variables."""
    before = Snapshot(module, objects)
    copies = before.copies(labels)
    try:
        yield
    finally:
        before.put_back(labels, copies)


class _VariableWalk:
    """Yields the variables of one module and of objects that outlive a call; each once."""

    def __init__(self, module: Any) -> None:
        self.module, self.left = module, MOST_VALUES
        self.seen: set[int] = set()

    def all(self, objects: Any) -> Iterator[Lasting]:
        yield from _modes()
        yield from self._members("global", vars(self.module), vars(self.module))
        for value in objects:
            yield from self._attributes(value)

    def _members(self, kind: str, members: Any, holder: Any) -> Iterator[Lasting]:
        for name, value in list(members.items()):
            if type(name) is not str or name in SET_BY_PYTHON or isinstance(value, types.ModuleType):
                continue
            function = getattr(value, "__func__", value) if kind == "attribute" else value
            if isinstance(function, types.FunctionType) or hasattr(type(function), "cache_info"):
                yield from self._of_function(name, function)
            elif isinstance(value, type):
                if value.__module__ == self.module.__name__ and self._is_new(value):
                    yield from self._members("attribute", vars(value), value)
            elif not isinstance(value, types.BuiltinFunctionType | types.GetSetDescriptorType | property):
                yield Lasting((kind, name if name.isidentifier() else ""), holder, name, value)
                yield from self._attributes(value)

    def _of_function(self, name: str, function: Any) -> Iterator[Lasting]:
        if not self._is_new(function):
            return
        if hasattr(type(function), "cache_info"):
            yield Lasting(("results", name), function, "", function.cache_info().currsize)
            function = function.__wrapped__
        if getattr(function, "__module__", "") != self.module.__name__:
            return
        code = function.__code__
        with_defaults = code.co_varnames[: code.co_argcount][::-1]
        defaults = function.__defaults__ or ()
        for index, value in enumerate(defaults):
            yield Lasting(("default", with_defaults[len(defaults) - 1 - index]), function, index, value)
        keywords = function.__kwdefaults__ or {}
        for key, value in keywords.items():
            yield Lasting(("default", key), keywords, key, value)
        yield from self._members("attribute", vars(function), vars(function))
        for key, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            with suppress(ValueError):  # the cell is empty
                value = cell.cell_contents
                if isinstance(value, types.FunctionType) or hasattr(type(value), "cache_info"):
                    yield from self._of_function(key, value)
                elif self._is_new(cell):
                    yield Lasting(("closure", key), cell, "", value)

    def _attributes(self, value: Any) -> Iterator[Lasting]:
        """Yield the attributes of an object of the submission, or of a module of PyTorch and its parts."""
        if not self._is_walked(value) or not self._is_new(value):
            return
        held = vars(value)
        for part in ("_parameters", "_buffers", "_modules"):
            if _is_module(value):
                yield from self._members("attribute", held[part], held[part])
        plain = {n: v for n, v in held.items() if not (_is_module(value) and n in _of_pytorch())}
        yield from self._members("attribute", plain, held)

    def _is_walked(self, value: Any) -> bool:
        is_own = type(value).__module__ == self.module.__name__
        return _is_module(value) or (is_own and isinstance(getattr(value, "__dict__", None), dict))

    def _is_new(self, value: Any) -> bool:
        is_new = id(value) not in self.seen
        self.seen.add(id(value))
        return is_new


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _of_pytorch() -> set[str]:
    """Return the names that PyTorch sets in every module, but the mode."""
    return set(vars(sys.modules["torch"].nn.Module())) - {"training"}


def _modes() -> Iterator[Lasting]:
    """Yield the modes of the libraries and the states of their random numbers."""
    yield Lasting(("random", "random"), random.setstate, "", random.getstate())
    yield Lasting(("random", "numpy"), np.random.set_state, "", np.random.get_state())
    torch = sys.modules.get("torch")
    if torch is not None:
        yield Lasting(("random", "torch"), torch.set_rng_state, "", torch.get_rng_state())
        yield Lasting(("mode", "gradients"), torch.set_grad_enabled, "", torch.is_grad_enabled())
        yield Lasting(("mode", "dtype"), torch.set_default_dtype, "", torch.get_default_dtype())


def _version(value: Any, depth: int = 0) -> Any:
    """Return the identity and the contents of a value; of a tensor, how often it was changed."""
    kind = type(value)
    if kind in (bool, int, float, str):
        return kind, value
    if depth < MOST_NESTED and kind in (list, tuple, dict, set) and len(value) <= MOST_ITEMS:
        items = value.items() if kind is dict else value
        return id(value), [_version(item, depth + 1) for item in items]
    if kind is np.ndarray:
        return id(value), value.tobytes() if value.size <= MOST_ENTRIES else b""
    if kind is np.random.Generator:
        return id(value), repr(value.bit_generator.state)
    if kind in (list, tuple, dict, set):
        return id(value), len(value)
    if kind.__module__.startswith("torch"):
        with suppress(RuntimeError):  # a tensor of inference mode does not count its changes
            return id(value), getattr(value, "_version", 0)
    return id(value)


def _copied(value: Any) -> Any:
    """Return a copy of a value; an object whose attributes are walked by themselves is not copied."""
    if type(value).__module__.partition(".")[0] not in ("builtins", "collections", "numpy", "torch"):
        return value
    with suppress(Exception):  # some tensors cannot be copied
        return value if _is_module(value) else copy.deepcopy(value)
    return value


MOST_SECONDS = 0.2  # of CPU time, in all calls, for comparing the arguments and the state with what they were


class LineTracer:
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
