"""Represent the submission's functions and objects in the grader by proxies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from grader.expect import SubmissionFailed
from grader.worker.protocol.codec import Callback, Handle
from grader.worker.protocol.outlines import ArrayOutline


class Owner(Protocol):
    """The interface of the student that a proxy sends its calls to."""

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any: ...

    def read(self, name: str, target: Handle) -> Any: ...

    def _with(self, **options: Any) -> AbstractContextManager[Any]: ...


@dataclass
class Function:
    """A proxy for an entry point, or for a method of an object in the worker."""

    student: Owner
    name: str
    target: Handle | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.student.call(self.name, self.target, list(args), kwargs)

    def elsewhere(self, number: int) -> AbstractContextManager[Any]:
        """Run the calls in the block in another worker, which sees those with this number alone, from 1.
        References and mistakes are trusted, and stay in their process."""
        return self.student._with(other=number)


class RemoteObject:
    """A proxy for an object in the worker: its methods can be called and its attributes read."""

    def __init__(self, student: Owner, handle: Handle) -> None:
        self._student, self._handle = student, handle

    @property
    def type_name(self) -> str:
        """The name of the object's class as the worker reports it."""
        return self._handle.type_name

    def __getattr__(self, name: str) -> Any:
        if name in OPERATORS:
            return Function(self._student, name, self._handle)
        if name.startswith("__") or name in OF_ARRAYS:
            raise AttributeError(name)
        value = self._student.read(name, self._handle)
        if isinstance(value, RemoteObject) and value._handle.callable and value.type_name in METHODS:
            return Function(self._student, name, self._handle)
        return value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._student.call("__call__", self._handle, list(args), kwargs)

    def __len__(self) -> int:
        value = self._student.call("__len__", self._handle, [], {})
        if type(value) is not int or value < 0:
            raise SubmissionFailed(("TypeError",), "len() must be a non-negative integer")
        return value


#: Attributes by which the grader recognises arrays; a remote object has none of them.
OF_ARRAYS = {"shape", "dtype", "device", "detach", "strides", "values", "keys"}
#: Operators that a law may call by name, `x.__mul__(2)`, with the text of the expression. `x * 2` itself is
#: not sent: where a law computes with an answer, the submission would compute.
OPERATORS = {
    "__neg__": "-{0}",
    "__pow__": "{0} ** {1}",
    **{
        f"__{side}{name}__": text
        for name, sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/"}.items()
        for side, text in {"": f"{{0}} {sign} {{1}}", "r": f"{{1}} {sign} {{0}}"}.items()
    },
}
METHODS = {"method", "builtin_function_or_method", "function", "method-wrapper"}


def bare(handle: Handle | None) -> Handle | None:
    """Return the handle without the class name, which the worker does not need to find the object."""
    return handle and Handle(handle.id, "")


def sent(value: Any, functions: list[Callable[..., Any]]) -> Any:
    """Return a value that can be encoded: proxies become handles, functions become Callbacks and are added to
    `functions`."""
    if isinstance(value, RemoteObject):
        return bare(value._handle)
    if type(value) in (list, tuple):
        return type(value)(sent(item, functions) for item in value)
    if type(value) is dict:
        return {key: sent(item, functions) for key, item in value.items()}
    if isinstance(value, ArrayOutline):
        functions.append(value.access)
        return Callback(len(functions) - 1, value)
    if callable(value) and not hasattr(value, "shape"):
        functions.append(value)
        return Callback(len(functions) - 1)
    return value


def without_objects(value: Any) -> Any:
    """Return the value with None in place of objects, functions and arrays of a device, which have no bits to
    compare."""
    if type(value) in (list, tuple):
        return [without_objects(item) for item in value]
    if type(value) is dict:
        return {key: without_objects(item) for key, item in value.items()}
    if isinstance(value, Handle | RemoteObject | ArrayOutline):
        return None
    return None if callable(value) and not hasattr(value, "shape") else value
