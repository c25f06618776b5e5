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

from grader.worker.child.instrumentation import is_view, observed_operations, without_subclasses

#: Objects that lead to tensors which do not belong to the object that refers to them.
SHARED = (type, types.ModuleType, types.FrameType)
NUMBER = 4  # bytes
SET_BY_PYTHON = {
    "__annotations__",
    "__builtins__",
    "__doc__",
    "__file__",
    "__module__",
    "__name__",
    "__qualname__",
}
FEW = 64  # numbers outside of tensors and arrays that do not count: sizes, positions and names


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
    the elements of tensors and arrays, each storage once, the numbers in lists, and bytes and text as numbers
    of NUMBER bytes; of the last three, what is more than FEW in all. Of classes and functions only the
    submission's own are searched, and `apart_from` is not."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    storages: dict[Any, int] = {}
    others = 0
    with torch._C.DisableTorchFunction():
        for value in _reached([owner, *_own(module)], module, apart_from):
            if issubclass(type(value), torch.Tensor):
                storages.update([_storage(without_subclasses(value))])
            elif issubclass(type(value), np.ndarray):
                storages.update([_memory_of(value)])
            else:
                others += _numbers_in(value)
    return sum(storages.values()) + (others if others > FEW else 0)


def is_shared(result: Any, earlier: list[Any], given: list[Any]) -> bool:
    """Return whether a result can be written and has the memory of an earlier one.

    An argument's memory may be returned. It is False if an argument is an object, such as a module."""
    if not all(map(_is_plain, _leaves(given))):
        return False
    own = [one for one in _arrays(result) if not any(_share(one, other) for other in _arrays(given))]
    return any(_share(one, other) for one in own for other in _arrays(earlier))


def is_entangled(result: Any, given: list[Any]) -> bool:
    """Return whether writing into one entry of a NumPy array in a result changes another entry.

    An argument's memory may be returned."""
    arrays = [one for one in _arrays(result) if isinstance(one, np.ndarray) and one.flags.writeable]
    return any(_overlaps(one) and not any(_share(one, other) for other in _arrays(given)) for one in arrays)


def _overlaps(array: Any) -> bool:
    """Return whether some entries of an array may have the same memory."""
    reach = array.itemsize  # of one entry, and of the axes with shorter strides
    for stride, length in sorted(
        (abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1
    ):
        if stride < reach:
            return bool(array.size)
        reach += stride * (length - 1)
    return False


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _arrays(value: Any) -> list[Any]:
    torch = sys.modules.get("torch")
    kinds = (np.ndarray, torch.Tensor) if torch else np.ndarray
    return [leaf for leaf in _leaves(value) if isinstance(leaf, kinds)]


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | np.generic) or bool(_arrays(value))


def _share(one: Any, other: Any) -> bool:
    """Return whether two arrays that can be written share memory."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.flags.writeable and other.flags.writeable and np.may_share_memory(one, other)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    return bool(one.numel() and other.numel() and _storage(one) == _storage(other))


def _memory_of(view: Any) -> tuple[int, int]:
    """Return the identity and the elements of the array whose memory an array uses."""
    while isinstance(view.base, np.ndarray):
        view = view.base
    return id(view), int(view.size)


def _numbers_in(value: Any) -> int:
    """Return how many numbers a list, a dict, bytes or a text holds itself; 0 for other objects."""
    if isinstance(value, bytes | bytearray | str | array.array | memoryview):
        return len(value) * getattr(value, "itemsize", 1) // NUMBER
    if isinstance(value, list | tuple | set | frozenset | dict | collections.deque):
        items = value.values() if isinstance(value, dict) else value
        return sum(issubclass(type(item), (int, float, complex, np.generic)) for item in items)
    return 0


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
        return _own(value)
    return [] if isinstance(value, SHARED) else gc.get_referents(value)


def _own(holder: Any) -> list[Any]:
    """Return the values that a module or a class holds, without what Python has put there, such as its
    docstring."""
    return [value for name, value in vars(holder).items() if name not in SET_BY_PYTHON]


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
