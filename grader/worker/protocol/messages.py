"""Define the messages for a call: the request to the worker, and its outcome.

Define the terms of a worker: its device, the layers of its sandbox, its folder and its environment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a reader has no NumPy, which the codec needs
    from grader.worker.protocol.codec import Handle

#: All layers. Tests leave out single layers to show what each of them prevents.
ALL = ("environment", "descriptors", "dumpable", "capabilities", "limits", "landlock", "seccomp")
KERNEL = ("dumpable", "capabilities", "landlock", "seccomp")
ISOLATION = {
    "required": ALL,
    "best": ALL,
    "none": tuple(layer for layer in ALL if layer not in KERNEL),
}
#: Variables that a worker keeps: language, time zone, and the paths of libraries and GPUs.
KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT", "PATH")
#: Variables that are set in every worker. Small inputs need one thread, and the sandbox forbids more.
SET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_CACHE_DISABLE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "USER": "student",
    "LOGNAME": "student",
}


MEMORY = 2 * 2**30  # bytes of address space in addition to that of the fork server
READING = 512 * 2**20  # the same while a text is read


@dataclass(frozen=True)
class Terms:
    """The settings of a worker's sandbox: the device, the layers, the path of the scratch folder, and the
    bytes of memory that it may take."""

    device: str = "cpu"
    layers: tuple[str, ...] = ALL
    scratch: str = ""
    memory: int = MEMORY

    @property
    def gpu(self) -> bool:
        return self.device != "cpu"

    def message(self) -> bytes:
        """Return the terms as JSON, to be sent to a worker."""
        return json.dumps(asdict(self)).encode()


def read_terms(message: bytes) -> Terms:
    """Return the terms from the JSON of `Terms.message`."""
    fields = json.loads(message)
    return Terms(fields["device"], tuple(fields["layers"]), fields["scratch"], fields["memory"])


def environment() -> dict[str, str]:
    """Return the environment variables of a worker."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **SET}


MOST_KEPT = 20  # variables that a trace names
LONGEST_NAME = 200  # characters of the name of one
LEFT_CHANGED = ("", "gradients", "dtype", "training")


@dataclass
class Request:
    """One request: call `name` of `target`, which is the submission if None, or `read` it as an attribute, or
    list the parameters of a module (`anatomy`), or count the numbers that it holds (`memory`), or call `name`
    of the grader's source text (`build`)."""

    name: str = ""
    target: Handle | None = None
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    read: bool = False
    anatomy: bool = False
    memory: bool = False
    build: str = ""
    constant: bool = False  # return the value called `name` itself unless it can be called
    echo: bool = False  # return the arguments as they are after the call
    count_flops: bool = False
    tensors_made: bool = False
    gradients: bool = False
    evaluating: bool = False  # put a module that is called into evaluation mode before
    fake_device: bool = False
    trace: bool = False  # record the lines that run, and what the call changes
    undo: list[tuple[str, str]] = field(default_factory=list)  # variables to put back; see `lasting.Label`
    grad_mode: str = ""  # "on" or "off": the gradient mode of the caller
    hold: bool = False  # keep the result, and report whether the next call changes it
    inspect: bool = False  # look after the call whether the instruments are as they were
    candidate: int = 0  # which candidate of a search to ask, from 1; 0 is the submission
    source: str = ""  # of the candidate, which is loaded first
    anew: bool = False  # ask a new worker, which has answered nothing before; it is not told
    number: int = 0  # part of the ids of the objects that the request creates
    #: The grader's functions among the arguments, indexed by the id of a Callback; they are not sent.
    functions: list[Callable[..., Any]] = field(default_factory=list)

    def message(self) -> dict[str, Any]:
        """Return the name and the fields that are not empty."""
        told = vars(self).keys() - {"functions", "anew"}
        fields = {field: value for field, value in vars(self).items() if value and field in told}
        return {**fields, "name": self.name}


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
        fields = {"value": self.value}
        if self.arguments is not None:
            fields["arguments"] = self.arguments
        if self.flops:
            fields["flops"] = self.flops
        if self.tensors_made is not None:
            fields["tensors_made"] = self.tensors_made
        if self.gradients is not None:
            fields["gradients"] = self.gradients
        if self.trace is not None:
            fields["trace"] = self.trace
        if self.overwritten:
            fields["overwritten"] = True
        if self.shared:
            fields["shared"] = True
        if self.entangled:
            fields["entangled"] = True
        if self.meddled:
            fields["meddled"] = True
        if self.left_changed:
            fields["left_changed"] = self.left_changed
        if self.detour:
            fields["detour"] = self.detour
        return fields
