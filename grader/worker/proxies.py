"""Represent the submission's functions and objects in the grader by proxies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from grader.expect import SubmissionFailed
from grader.worker.protocol.codec import Callback, Handle


class Owner(Protocol):
    """The interface of the student that a proxy sends its calls to."""

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any: ...

    def read(self, name: str, target: Handle) -> Any: ...


@dataclass
class Function:
    """A proxy for an entry point, or for a method of an object in the worker."""

    student: Owner
    name: str
    target: Handle | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.student.call(self.name, self.target, list(args), kwargs)


class RemoteObject:
    """A proxy for an object in the worker: its methods can be called and its attributes read."""

    def __init__(self, student: Owner, handle: Handle) -> None:
        self._student, self._handle = student, handle

    @property
    def type_name(self) -> str:
        """The name of the object's class as the worker reports it."""
        return self._handle.type_name

    def __getattr__(self, name: str) -> Any:
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
    if callable(value) and not hasattr(value, "shape"):
        functions.append(value)
        return Callback(len(functions) - 1)
    return value
