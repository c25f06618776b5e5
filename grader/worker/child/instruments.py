"""Notice whether a submission has changed what measures it, and put that back.

The instruments are the functions that measure a call and write down its outcome, and what these look up in
Python's builtins, in NumPy and in PyTorch. This module has no class, since any code finds all classes.
"""

from __future__ import annotations

import builtins
import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MODULES = (
    *("child.executor", "child.instrumentation", "child.memory", "child.on_fake_device", "child.fake_device"),
    *("protocol.codec", "protocol.messages", "protocol.channel"),
)


def hidden() -> list[types.ModuleType]:
    """Take the grader's modules from `sys.modules`, and all objects from the lists of the garbage collector;
    return the modules of the instruments."""
    names = [name for name in sys.modules if name == "grader" or name.startswith("grader.")]
    modules = {name: sys.modules.pop(name) for name in names}
    gc.freeze()
    vars(gc).pop("unfreeze", None)
    return [modules[f"grader.worker.{name}"] for name in MODULES if f"grader.worker.{name}" in modules]


def watched(modules: Iterable[types.ModuleType]) -> Callable[[], bool]:
    """Return a function that puts back every instrument that was changed, and returns whether one was."""
    own: list[Any] = [holder for module in modules for holder in (module, *_classes(module))]
    functions = [function for holder in own for function in _functions(holder)]
    called = {name for function in functions for name in function.__code__.co_names}
    shadowed = called & vars(builtins).keys()  # a global of that name would take a builtin's place
    packages: dict[str, Any] = {name: sys.modules[name] for name in ("numpy", "torch") if name in sys.modules}
    libraries: list[Any] = [builtins, sys, *packages.values()]
    if "torch" in packages:
        libraries += [packages["torch"].Tensor, packages["torch"].nn.Module]
    places = [(holder, [*{**vars(holder), **dict.fromkeys(shadowed)}]) for holder in own]
    places += [(library, [name for name in called if hasattr(library, name)]) for library in libraries]
    before = [(holder, names, dict(vars(holder))) for holder, names in places]
    codes = [(function, function.__code__, function.__defaults__) for function in functions]
    getters = [(vars(holder).get, names) for holder, names in places]

    def state() -> list[int]:
        found = [value for get, names in getters for value in map(get, names)]
        found += [part for function in functions for part in (function.__code__, function.__defaults__)]
        return [*map(id, found), *map(id, map(sys.modules.get, packages))]

    at_first = state()

    def restored() -> bool:
        if state() == at_first:
            return False
        for holder, names, values in before:
            for name in names:
                if name in values and vars(holder).get(name) is not values[name]:
                    setattr(holder, name, values[name])
                elif name not in values and name in vars(holder):
                    delattr(holder, name)
        for function, code, defaults in codes:
            function.__code__, function.__defaults__ = code, defaults
        sys.modules.update(packages)
        return True

    return restored


def _classes(module: types.ModuleType) -> Iterator[type]:
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield value


def _functions(holder: Any) -> Iterator[types.FunctionType]:
    """Yield the functions that a module or a class defines."""
    name = holder.__name__ if isinstance(holder, types.ModuleType) else holder.__module__
    for value in vars(holder).values():
        function = getattr(value, "__func__", value)
        if isinstance(function, types.FunctionType) and function.__module__ == name:
            yield function
