"""Hide what measures a submission, notice whether the submission has changed it, and put that back.

The instruments are the functions that measure a call and write down its outcome, and what these look up in
Python's builtins, in NumPy and in PyTorch. This module has no class, since any code finds all classes.
"""

from __future__ import annotations

import builtins
import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, is_, itemgetter
from typing import Any

MODULES = ("child.executor", "child.memory", "protocol.codec", "protocol.messages")
OF_PYTORCH = ("child.instrumentation", "child.on_fake_device", "child.fake_device")
OF_THE_COMPILER = {"manual_seed", "__init__", "__setstate__"}  # PyTorch's compiler exchanges these itself
METHODS = (types.FunctionType, classmethod, staticmethod)
kept: dict[str, types.ModuleType] = {}  # freeing them would copy the memory that workers share
code_of, defaults_of, by_name_of = map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__"))


def hidden() -> list[types.ModuleType]:
    """Take the grader's modules from `sys.modules`, and all objects from the lists of the garbage collector;
    return the modules of the instruments."""
    names = [name for name in sys.modules if name == "grader" or name.startswith("grader.")]
    kept.update((name, sys.modules.pop(name)) for name in [*names, "__main__"])
    sys.modules["__main__"] = types.ModuleType("__main__")
    gc.freeze()
    vars(gc).pop("unfreeze", None)
    used = [*MODULES, *(OF_PYTORCH if "torch" in sys.modules else ())]
    return [kept[f"grader.worker.{name}"] for name in used]


def watched(modules: Iterable[types.ModuleType], serving: Sequence[Any] = ()) -> Callable[[], bool]:
    """Return a function that puts back every instrument that was changed, and returns whether one was. It
    looks at what the instruments use and at nothing else. `serving` are the objects that carry out requests:
    none may get a method of its own, another class, or another object to serve with."""
    every_module = [
        *modules,
        *(kept[name] for name in {type(one).__module__ for one in serving} & kept.keys()),
    ]
    own: list[Any] = [holder for module in every_module for holder in (module, *_classes(module))]
    for module in every_module:
        vars(module).setdefault("__warningregistry__", {})  # a warning would add it
    functions = [function for holder in own for function in _functions(holder)]
    named = {name for function in functions for name in _names(function.__code__)}
    measuring = {module.__name__ for module in modules}
    called = {
        name
        for function in functions
        if function.__module__ in measuring
        for name in _names(function.__code__)
    } - OF_THE_COMPILER
    packages: dict[str, Any] = {name: sys.modules[name] for name in ("numpy", "torch") if name in sys.modules}
    libraries: list[Any] = [builtins, sys, *packages.values()]
    if "torch" in packages:
        libraries += [packages["torch"].Tensor, packages["torch"].nn.Module, packages["torch"]._C]
    before = {holder: dict(vars(holder)) for holder in own}
    before |= {library: {n: vars(library)[n] for n in called & vars(library).keys()} for library in libraries}
    used = [
        (holder, [name for name, value in values.items() if name in named or isinstance(value, METHODS)])
        for holder, values in before.items()
        if holder not in libraries
    ]
    used += [(library, [name for name in called if name in before[library]]) for library in libraries]
    for one in serving:
        lasting = {n: v for n, v in vars(one).items() if callable(v) or any(v is other for other in serving)}
        before[one] = dict(vars(one))
        used.append((one, [*lasting]))
    classes = [type(one) for one in serving]
    getters = [(itemgetter(*names, names[0]), vars(holder)) for holder, names in used if names]
    inherited = [  # a class that defines one of these itself has another
        (holder, name, vars(holder))
        for holder in libraries
        for name in called
        if isinstance(holder, type) and hasattr(holder, name) and name not in vars(holder)
    ]
    sizes = [vars(holder) for holder in (*own, *serving)]  # a new name could take a builtin's place
    codes = [(function, function.__code__, function.__defaults__) for function in functions]
    by_name = [(function, names, dict(names)) for function in functions if (names := function.__kwdefaults__)]
    getters += [(itemgetter(*names, next(iter(names))), names) for _, names, _ in by_name]
    each, every, size, kind = map, all, len, type  # a submission may put others into Python's builtins

    def state() -> tuple[list[Any], list[int]]:
        found = [value for get, values in getters for value in get(values)]
        found += [*each(code_of, functions), *each(defaults_of, functions), *each(by_name_of, functions)]
        found += each(sys.modules.get, packages)
        found += each(kind, serving)
        new = [name in names for _, name, names in inherited]
        return found, [*each(size, sizes), *new]

    at_first = state()

    def restored() -> bool:
        try:
            found, counts = state()
            if counts == at_first[1] and every(each(is_, found, at_first[0])):  # `==` asks the objects
                return False
        except KeyError:  # one is gone
            pass
        for holder, names in used:
            for name in names:
                if vars(holder).get(name) is not before[holder][name]:
                    setattr(holder, name, before[holder][name])
        for one, before_it in zip(serving, classes, strict=True):
            one.__class__ = before_it
        for holder in (*own, *serving):
            for name in vars(holder).keys() - before[holder].keys():
                delattr(holder, name)
        for holder, name, attributes in inherited:
            if name in attributes:
                delattr(holder, name)
        for function, code, defaults in codes:
            function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, None
        for function, keywords, values in by_name:
            keywords.update(values)
            function.__kwdefaults__ = keywords
        sys.modules.update(packages)
        return True

    return restored


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the global names and the attributes in a function's code, and in functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


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
