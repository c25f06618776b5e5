"""Count the elements of the tensors that a call makes, and of those that an object holds.

Both counts are exact, and independent of the allocator and of garbage collection.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from grader.worker.child.instrumentation import is_view, observed_operations

#: Objects that lead to tensors which do not belong to the object that refers to them.
SHARED = (type, types.ModuleType, types.FrameType)


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


def elements_held(owner: Any, apart_from: list[Any]) -> int:
    """Return the elements of all storages that can be reached from an object, each counted once. The objects
    in `apart_from` are not searched, nor are classes, modules and the globals of functions."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    with torch._C.DisableTorchFunctionSubclass():
        reached = _reached(owner, {id(other) for other in apart_from})
        tensors = [value for value in reached if issubclass(type(value), torch.Tensor)]
        return sum(dict(map(_storage, tensors)).values())


def _reached(owner: Any, seen: set[int]) -> Iterator[Any]:
    waiting = [owner]
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            waiting += _referents(value)


def _referents(value: Any) -> list[Any]:
    if isinstance(value, types.FunctionType):
        return list(value.__closure__ or ())
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
