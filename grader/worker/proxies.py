"""What stands in the grader for an object that stays with the submission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from grader.expect import SubmissionFailed
from grader.worker.protocol.codec import Callback, Handle


class Owner(Protocol):
    """The student that an object belongs to."""

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any: ...

    def read(self, name: str, target: Handle) -> Any: ...


@dataclass
class Function:
    """An entry point, or a method of an object that stays with the submission."""

    student: Owner
    name: str
    target: Handle | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.student.call(self.name, self.target, list(args), kwargs)


class RemoteObject:
    """An object of the submission's: its methods can be called, its attributes read."""

    def __init__(self, student: Owner, handle: Handle) -> None:
        self._student, self._handle = student, handle

    @property
    def type_name(self) -> str:
        """The name of the object's class, as it says itself."""
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


#: What the grader asks to tell arrays from other values; an object that stays away is no array.
OF_ARRAYS = {"shape", "dtype", "device", "detach", "strides", "values", "keys"}
METHODS = {"method", "builtin_function_or_method", "function", "method-wrapper"}


def bare(handle: Handle | None) -> Handle | None:
    """The number alone, which says what object is meant; its class is the submission's own matter."""
    return handle and Handle(handle.id, "")


def sent(value: Any, functions: list[Callable[..., Any]]) -> Any:
    """Proxies become the handles they hold; functions become numbers, and are added to `functions`."""
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
