"""Define the messages for a call: the requests to the worker, one record for each kind, and their outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from grader.worker.protocol.codec import Handle

MOST_KEPT = 20  # variables that a trace names
LONGEST_NAME = 200  # characters of the name of one
LEFT_CHANGED = ("", "gradients", "dtype", "training")


@dataclass(frozen=True)
class CallOptions:
    """How a function is called, and what is measured of the call."""

    measure: str = ""  # "flops", "tensors", "gradients" or "fake device"
    grad_mode: str = ""  # "on" or "off": the gradient mode of the caller
    evaluating: bool = False  # put a module that is called into evaluation mode before
    constant: bool = False  # return the value called `name` itself unless it can be called
    echo: bool = False  # return the arguments as they are after the call
    hold: bool = False  # keep the result, and report whether the next call changes it
    trace: bool = False  # record the lines that run, and what the call changes
    undo: tuple[tuple[str, str], ...] = ()  # variables to put back; see `repair.Label`
    other: int = 0  # the number of another worker to ask, which answers nothing else; it is not told


AS_USUAL = CallOptions()


@dataclass(kw_only=True)
class Request:
    """What all requests have: the object that they are about, which is the submission if None, and the name
    of its attribute."""

    kind: ClassVar[str]  # the tag of the message

    name: str = ""
    target: Handle | None = None
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    number: int = 0  # part of the ids of the objects that the request creates
    candidate: int = 0  # which candidate of a search to ask, from 1; 0 is the submission
    source: str = ""  # of the candidate, which is loaded first
    #: The grader's functions among the arguments, indexed by the id of a Callback; they are not sent.
    functions: list[Callable[..., Any]] = field(default_factory=list)

    options: ClassVar[CallOptions] = AS_USUAL  # only a call has others

    def message(self) -> dict[str, Any]:
        """Return the fields that are not empty, under the tag."""
        sent = {name: value for name, value in vars(self).items() if value and name != "functions"}
        return {self.kind: sent}


@dataclass(kw_only=True)
class CallFunction(Request):
    """Call a function of the submission, or a method of an object; `__call__` calls the object itself."""

    kind: ClassVar[str] = "call"
    options: CallOptions = AS_USUAL  # type: ignore[misc]  # the other requests have none
    inspect: bool = False  # look after the call whether the instruments are as they were

    def message(self) -> dict[str, Any]:
        """Return the fields that are not empty, under the tag; of the options those that are not as usual.
        Which worker is asked is not told: a submission would know that it runs alone."""
        message = super().message()
        message[self.kind].pop("options")
        if options := {
            name: value for name, value in vars(self.options).items() if value and name != "other"
        }:
            message[self.kind]["options"] = options
        return message


@dataclass(kw_only=True)
class ReadAttribute(Request):
    """Read an attribute."""

    kind: ClassVar[str] = "read"


@dataclass(kw_only=True)
class BuildObject(Request):
    """Call a function or a class of the grader's source text, which runs beside the submission."""

    kind: ClassVar[str] = "build"
    text: str


@dataclass(kw_only=True)
class DescribeModule(Request):
    """List the parameters and buffers of a module."""

    kind: ClassVar[str] = "describe"


@dataclass(kw_only=True)
class CountNumbers(Request):
    """Count the numbers that can be reached from an object."""

    kind: ClassVar[str] = "count"


REQUESTS = {one.kind: one for one in (CallFunction, ReadAttribute, BuildObject, DescribeModule, CountNumbers)}


def read_request(kind: str, sent: dict[str, Any]) -> Request:
    """Return the request from its tag and the fields of `Request.message`. Raises KeyError, TypeError."""
    if options := sent.get("options"):
        sent = {**sent, "options": CallOptions(**options)}
    return REQUESTS[kind](**sent)


@dataclass
class Outcome:
    """The outcome of a request; `arguments` are the arguments as they are after the call."""

    value: Any = None
    arguments: Any = None
    flops: int = 0
    #: The numbers written by all operations; elements, shape and operation of the largest tensor made.
    tensors_made: list[Any] | None = None
    gradients: dict[str, Any] | None = None
    #: The `lines` that ran; the first line after which an argument is `changed`; and the variables that the
    #: call has changed for later ones (`kept`), each with its kind, its name and such a line. No line is 0.
    trace: dict[str, Any] | None = None
    overwritten: bool = False  # the call changed the result that was held
    shared: bool = False  # the call returned an array that was returned before
    entangled: bool = False  # the call returned an array some of whose entries have the same memory
    left_changed: str = ""  # what the call left in another mode, one of LEFT_CHANGED
    meddled: bool = False  # the submission has changed what measures it
    detour: int = 0  # the line from which a tensor has gone from the fake device by way of the CPU

    def message(self) -> dict[str, Any]:
        """Return the value and the fields that are not empty."""
        sent = {name: value for name, value in vars(self).items() if value is not getattr(Outcome, name)}
        return {**sent, "value": self.value}
