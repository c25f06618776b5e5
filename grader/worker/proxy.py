"""`student`: a submission as the checks see it, wherever it runs.

    student.softmax(x, axis=0)             a call
    cache = student.KVCache()              an object that stays where it is; len(cache), cache.append(…)
    with student.counting_flops() as work: work.flops
    with student.recording_gradients() as tape: tape.gradients
    with student.pretending_device() as life: life.devices

`LocalStudent` runs a module in this process (references, mistakes, plain pytest); `RemoteStudent`
talks to a worker. Every call is written down in `trace`, which is what diagnosis compares.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.expect import SubmissionFailed
from grader.worker.channel import Channel, ChannelClosed, Flooded, TimedOut
from grader.worker.codec import Callback, Handle, Malformed, Phantom, decode, encode
from grader.worker.executor import Executor, Outcome, Request, describe_error

CALL_SECONDS = 5.0


class WorkerLost(Exception):
    """The worker died, was too slow or broke the protocol. `timed_out` tells which."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


@dataclass
class Call:
    """One call and what came of it: a value, or an error's class names."""

    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    value: Any = None
    error: tuple[str, ...] = ()


@dataclass
class Measured:
    """What was measured over the calls of one `with` block."""

    flops: int = 0
    gradients: list[dict[str, Any]] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


class Student:
    """The part that local and remote students share: attributes, options, the trace."""

    def __init__(self) -> None:
        self.trace: list[Call] = []
        self._options: dict[str, bool] = {}
        self._measured = Measured()

    def perform(self, request: Request) -> Outcome:
        """Carry out one request. Raises SubmissionFailed, WorkerLost."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Function(self, name)

    @contextmanager
    def _with(self, option: str) -> Iterator[Measured]:
        before = self._options, self._measured
        self._options, self._measured = {option: True}, Measured()
        try:
            yield self._measured
        finally:
            self._options, self._measured = before

    def counting_flops(self) -> Any:
        """Count the work of the calls inside; needs PyTorch."""
        return self._with("count_flops")

    def recording_gradients(self) -> Any:
        """Differentiate each call inside with respect to its floating arguments and parameters."""
        return self._with("gradients")

    def pretending_device(self) -> Any:
        """Run the calls inside on a pretended device: results have shapes and no values."""
        return self._with("pretend")

    def watching_arguments(self) -> Any:
        """Note in `changed` which arguments a call inside leaves changed."""
        return self._with("echo")

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Perform one call, measure it, write it down."""
        record = Call(name, args, kwargs)
        self.trace.append(record)
        request = Request(name, target, _sent(args), _sent(kwargs), **self._options)
        try:
            outcome = self.perform(request)
        except SubmissionFailed as failure:
            record.error = failure.kinds
            raise
        record.value = outcome.value
        self._note(outcome, args, kwargs)
        return self._received(outcome.value)

    def _note(self, outcome: Outcome, args: list[Any], kwargs: dict[str, Any]) -> None:
        self._measured.flops += outcome.flops
        if outcome.gradients is not None:
            self._measured.gradients.append(outcome.gradients)
        if outcome.arguments is not None:
            self._measured.changed += _changed(args, kwargs, outcome.arguments)

    def read(self, name: str, target: Handle) -> Any:
        """An attribute of an object that stays with the submission."""
        return self._received(self.perform(Request(name, target, read=True)).value)

    def _received(self, value: Any) -> Any:
        if isinstance(value, Handle):
            return RemoteObject(self, value)
        if isinstance(value, Phantom):
            self._measured.devices.append(value.device)
            return _meta_tensor(value)
        if type(value) in (list, tuple):
            return type(value)(self._received(item) for item in value)
        if type(value) is dict:
            return {key: self._received(item) for key, item in value.items()}
        return value


@dataclass
class Function:
    """An entry point, or a method of an object that stays with the submission."""

    student: Student
    name: str
    target: Handle | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.student.call(self.name, self.target, list(args), kwargs)


class RemoteObject:
    """An object of the submission's: its methods can be called, its attributes read."""

    def __init__(self, student: Student, handle: Handle) -> None:
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


def _sent(value: Any) -> Any:
    """Proxies become the handles they hold."""
    if isinstance(value, RemoteObject):
        return value._handle
    if type(value) in (list, tuple):
        return type(value)(_sent(item) for item in value)
    if type(value) is dict:
        return {key: _sent(item) for key, item in value.items()}
    return value


def _meta_tensor(value: Phantom) -> Any:
    import torch

    return torch.empty(value.shape, dtype=getattr(torch, value.dtype), device="meta")


def _changed(args: list[Any], kwargs: dict[str, Any], after: Any) -> list[str]:
    """Names of the arguments that are not, bit by bit, what they were."""
    from grader.comparison import Tolerance, first_difference

    pairs = [(f"argument {i + 1}", b, a) for i, (b, a) in enumerate(zip(args, after[0], strict=True))]
    pairs += [(name, kwargs[name], after[1][name]) for name in kwargs]
    plain = [(name, _that_travels(before), _that_travels(now)) for name, before, now in pairs]
    return [name for name, before, now in plain if first_difference(before, now, Tolerance(terms=0))]


def _that_travels(value: Any) -> Any:
    """The value with nothing in the place of objects and functions, which have no bits to compare."""
    if type(value) in (list, tuple):
        return [_that_travels(item) for item in value]
    if type(value) is dict:
        return {key: _that_travels(item) for key, item in value.items()}
    stays = isinstance(value, Handle | RemoteObject) or (callable(value) and not hasattr(value, "shape"))
    return None if stays else value


class LocalStudent(Student):
    """A module in this process, for code that is trusted."""

    def __init__(self, module: Any, filename: str = "") -> None:
        super().__init__()
        self._executor = Executor(module)
        self._filename = filename or f"{getattr(module, '__name__', '')}.py"

    def perform(self, request: Request) -> Outcome:
        arguments = _copied([request.args, request.kwargs])
        request.args, request.kwargs = arguments
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings are not graded
                return self._executor.run(request)
        except Exception as error:
            told = describe_error(error, self._filename)
            raise SubmissionFailed(tuple(told["kinds"]), told["message"], told["line"]) from error


def _copied(value: Any) -> Any:
    """Arguments as fresh as those that a worker gets: strides kept, handles and callables shared."""
    if type(value) is list:
        return [_copied(item) for item in value]
    if type(value) is tuple:
        return tuple(_copied(item) for item in value)
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    if hasattr(value, "strides"):
        return value.copy("K") if hasattr(value, "copy") else value
    if type(value).__module__ == "torch" and hasattr(value, "clone"):
        return value.clone()
    return value if callable(value) else copy.copy(value)


class RemoteStudent(Student):
    """A submission in a worker. A call that fails to come back in time loses the worker."""

    def __init__(
        self, channel: Channel, call_seconds: float = CALL_SECONDS, give_up_at: float = math.inf
    ) -> None:
        super().__init__()
        self._give_up_at = give_up_at
        self._channel = channel
        self._call_seconds = call_seconds
        self._nonce = 0

    def greeting(self, seconds: float) -> dict[str, Any]:
        """What the worker says first: which protections hold. Raises WorkerLost."""
        with _told_apart(seconds):
            return dict(self._receive(time.monotonic() + seconds)["in_force"])

    def ask(self, message: dict[str, Any], seconds: float, functions: list[Callable[..., Any]]) -> Any:
        """One question and its answer; callbacks in between are served. Raises WorkerLost."""
        self._nonce += 1
        deadline = time.monotonic() + seconds
        with _told_apart(seconds):
            self._channel.send(*encode(message), self._nonce, deadline)
            while True:
                reply = self._receive(deadline)
                if "callback" not in reply:
                    return reply
                self._channel.send(*encode(_called_back(reply, functions)), self._nonce, deadline)

    def _receive(self, deadline: float) -> dict[str, Any]:
        header, body, nonce = self._channel.receive(deadline)
        if nonce != self._nonce:
            raise Malformed("it does not belong to this call")
        return decode(header, body)

    def perform(self, request: Request) -> Outcome:
        if time.monotonic() > self._give_up_at:
            raise WorkerLost("All calls together took too long.", timed_out=True)
        functions: list[Callable[..., Any]] = []
        request.args = _numbered(request.args, functions)
        request.kwargs = _numbered(request.kwargs, functions)
        answer = unwrap(self.ask({"request": vars(request)}, self._call_seconds, functions))
        try:
            return Outcome(**answer)
        except TypeError:
            raise WorkerLost("The answer could not be read: it is no outcome.") from None

    @property
    def printed(self) -> str:
        """What the submission has printed so far, cut in the middle."""
        return self._channel.output.text()


@contextmanager
def _told_apart(seconds: float) -> Iterator[None]:
    """Every way in which a worker can be lost, as WorkerLost with its sentence."""
    try:
        yield
    except TimedOut:
        raise WorkerLost(f"No answer within {seconds:g} seconds.", timed_out=True) from None
    except ChannelClosed:
        raise WorkerLost("The process that ran the submission ended in the middle of a call.") from None
    except Flooded:
        raise WorkerLost("The submission printed more than 32 MiB.") from None
    except (Malformed, KeyError, TypeError) as error:
        told = error if isinstance(error, Malformed) else "it is no greeting"
        raise WorkerLost(f"The answer could not be read: {told}.") from None


def unwrap(reply: dict[str, Any]) -> Any:
    """The value of an answer. Raises SubmissionFailed where the submission raised."""
    if "error" not in reply:
        return reply.get("ok")
    told = reply["error"]
    try:
        kinds = tuple(str(kind)[:80] for kind in told["kinds"]) or ("Exception",)
        line = told["line"] if type(told["line"]) is int else None
        raise SubmissionFailed(kinds, str(told["message"])[:2000], line)
    except (KeyError, TypeError):
        raise WorkerLost("The answer could not be read: its error is no error.") from None


def _numbered(value: Any, functions: list[Callable[..., Any]]) -> Any:
    """Functions become numbers that the worker can call back by."""
    if type(value) in (list, tuple):
        return type(value)(_numbered(item, functions) for item in value)
    if type(value) is dict:
        return {key: _numbered(item, functions) for key, item in value.items()}
    if callable(value) and not isinstance(value, Handle) and not hasattr(value, "shape"):
        functions.append(value)
        return Callback(len(functions) - 1)
    return value


def _called_back(reply: dict[str, Any], functions: list[Callable[..., Any]]) -> dict[str, Any]:
    """Call one of the grader's functions for the submission; its error goes back as text."""
    number, args = reply["callback"], reply.get("args")
    if type(number) is not int or not 0 <= number < len(functions) or type(args) is not list:
        raise Malformed("it calls a function that was not given")
    try:
        return {"value": functions[number](*args)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
