"""Count the elements of the tensors that a call makes, and of those that an object holds.

Both counts are exact, and independent of the allocator and of garbage collection.
"""

from __future__ import annotations

import array
import collections
import gc
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from grader.worker.child.instrumentation import is_view, observed_operations

#: Objects that lead to tensors which do not belong to the object that refers to them.
SHARED = (type, types.ModuleType, types.FrameType)
NUMBER = 4  # bytes
FEW = 16  # numbers in a list, or in bytes and text, below which they do not count: sizes, positions and names


class TensorsMade:
    """The largest tensor that operations have made, and how many numbers they have written."""

    def __init__(self) -> None:
        self.elements, self.shape, self.operation = 0, list[int](), ""
        self.written = 0

    def observe(self, func: Any, args: list[Any]) -> Callable[[Any], None]:
        """Return a function that notes the results of a basic operation. Views count nothing. A tensor counts
        as made once, and again if it grows; it counts as written each time that it is written in place."""
        return partial(self._note, func, set(map(_storage, _tensors(args))))

    def _note(self, func: Any, given: set[tuple[int, int]], result: Any) -> None:
        for tensor in () if is_view(func) else _tensors([result]):
            self.written += tensor.numel()
            storage = _storage(tensor)
            if storage not in given and storage[1] > self.elements:
                self.elements, self.shape = storage[1], list(tensor.shape)
                self.operation = str(func.overloadpacket)


def with_tensors_made(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, list[Any]]:
    """Return the result of a call without gradients, and a list: how many numbers PyTorch has written for it,
    and the elements, the shape and the operation of the largest tensor that it has made."""
    import torch

    made = TensorsMade()
    with torch.no_grad(), observed_operations(made.observe):
        value = function(*args, **kwargs)
    return value, [made.written, made.elements, made.shape, made.operation]


def elements_held(owner: Any, module: Any, apart_from: Any = None) -> int:
    """Return how many numbers can be reached from an object and from the globals of a submission's module:
    the elements of tensors and arrays, each storage once, the numbers in large lists, and bytes and text as
    numbers of NUMBER bytes. Of classes and functions only the submission's own
    are searched, and `apart_from` is not."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    found: dict[Any, int] = {}
    globals_ = [value for name, value in vars(module).items() if name != "__builtins__"]
    with torch._C.DisableTorchFunctionSubclass():
        for value in _reached([owner, *globals_], module, apart_from):
            found.update(_numbers_in(torch, value))
    return sum(found.values())


def _numbers_in(torch: Any, value: Any) -> Iterator[tuple[Any, int]]:
    """Yield the identity of the memory that a value occupies and the numbers in it, if it holds numbers."""
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        yield _storage(value)
    elif issubclass(kind, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        yield id(value), int(value.size)
    elif issubclass(kind, (bytes, bytearray, str, array.array, memoryview)):
        size = len(value) * getattr(value, "itemsize", 1) // NUMBER
        yield id(value), size if size >= FEW else 0
    elif issubclass(kind, (list, tuple, set, frozenset, dict, collections.deque)):
        items = value.values() if issubclass(kind, dict) else value
        numbers = sum(issubclass(type(item), (int, float, complex, np.generic)) for item in items)
        yield id(value), numbers if numbers >= FEW else 0


def _reached(waiting: list[Any], module: Any, apart_from: Any) -> Iterator[Any]:
    others = (module, vars(module), apart_from)
    seen = {id(value): value for value in others}  # a value that is kept alive keeps its id
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            yield value
            waiting += _referents(value, module.__name__)


def _referents(value: Any, name: str) -> list[Any]:
    if isinstance(value, types.FunctionType):
        kept = [
            *(value.__closure__ or ()),
            *(value.__defaults__ or ()),
            *(value.__kwdefaults__ or {}).values(),
        ]
        return [*kept, vars(value)] if value.__module__ == name else kept
    if isinstance(value, type) and value.__module__ == name:
        return list(vars(value).values())
    return [] if isinstance(value, SHARED) else gc.get_referents(value)


def _storage(tensor: Any) -> tuple[int, int]:
    """Return the identity and the elements of a tensor's storage; a sparse tensor has none of its own."""
    import torch

    if tensor.layout is not torch.strided:
        return id(tensor), int(tensor.numel())
    storage = tensor.untyped_storage()
    return storage._cdata, max(storage.nbytes() // tensor.element_size(), int(tensor.numel()))


def _tensors(values: Any) -> Iterator[Any]:
    """Yield the tensors among values and nested lists."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _tensors(value)
        elif hasattr(value, "untyped_storage"):
            yield value
