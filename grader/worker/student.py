"""The interface `student`, through which checks call a submission in a worker or in this process.

    student.softmax(x, axis=0)             a call
    cache = student.KVCache()              a proxy for an object in the worker; len(cache), cache.append(…)
    student.build(SOURCE, "Model", 8)      a proxy for an object from the grader's source text
    with student.counting_flops() as work: work.flops
    with student.counting_largest_tensor() as made: made.largest, made.written
    student.memory_of(cache)               how many numbers its tensors hold
    with student.recording_gradients() as tape: tape.gradients
    with student.pretending_device() as life: life.devices

Every call is recorded in `trace`, which is compared with the traces of known mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from grader.expect import SubmissionFailed
from grader.worker.protocol.codec import Handle, TensorOutline
from grader.worker.protocol.messages import Outcome, Request
from grader.worker.proxies import Function, RemoteObject, bare, sent


@dataclass
class Call:
    """One call and its result: a value, its gradients if recorded, or the class names of its error. `helping`
    is True if the call went to an object from `build`."""

    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    value: Any = None
    error: tuple[str, ...] = ()
    gradients: dict[str, Any] | None = None
    helping: bool = False


@dataclass(frozen=True)
class LargestTensor:
    """The largest tensor that the calls of a `with` block have made, and the operation that made it. As text:
    `a tensor of shape [2, 96, 96], made by aten.bmm`."""

    elements: int = 0
    shape: tuple[int, ...] = ()
    operation: str = ""

    def __str__(self) -> str:
        return (
            f"a tensor of shape {list(self.shape)}, made by {self.operation}"
            if self.elements
            else "no tensor"
        )


@dataclass
class Measured:
    """The measurements of all calls in one `with` block."""

    flops: int = 0
    largest: LargestTensor = LargestTensor()
    written: int = 0
    gradients: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)  # the calls that `gradients` belong to, in order
    devices: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    overwritten: bool = False


class Student:
    """The base class of local and remote students."""

    def __init__(self) -> None:
        self.trace: list[Call] = []
        self._options: dict[str, Any] = {}
        self._measured = Measured()
        self._built: set[int] = set()

    def perform(self, request: Request) -> Outcome:
        """Carry out one request. Raises SubmissionFailed, WorkerLost."""
        raise NotImplementedError

    def perform_all(self, requests: Sequence[Request]) -> list[Outcome | Exception]:
        """Carry out requests in order; return each outcome, or the exception that `perform` raises."""
        return [_attempted(self.perform, request) for request in requests]

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
        """Count the floating-point operations of the calls in the block; needs PyTorch."""
        return self._with("count_flops")

    def counting_largest_tensor(self) -> Any:
        """Record the `largest` tensor that a call in the block makes, and count the numbers `written` by all
        operations. The calls run without gradients; needs PyTorch."""
        return self._with("tensors_made")

    def recording_gradients(self) -> Any:
        """Differentiate each call in the block with respect to its floating arguments and parameters."""
        return self._with("gradients")

    def pretending_device(self) -> Any:
        """Run the calls in the block on a fake device; `devices` records results that stay on the CPU."""
        return self._with("fake_device")

    def watching_arguments(self) -> Any:
        """Record in `changed` the arguments that a call in the block has modified."""
        return self._with("echo")

    def holding_results(self) -> Any:
        """Set `overwritten` if a call in the block modifies the result of the call before it."""
        return self._with("hold")

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Perform one call and record it in the trace. Raises SubmissionFailed, WorkerLost."""
        record = Call(name, args, kwargs, helping=target is not None and target.id in self._built)
        self.trace.append(record)
        request = self._request(name, bare(target), args, kwargs, **self._options)
        try:
            outcome = self.perform(request)
        except SubmissionFailed as failure:
            record.error = failure.kinds
            raise
        record.value = outcome.value
        self._note(outcome, record)
        return self._received(outcome.value)

    def _request(
        self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any], **options: Any
    ) -> Request:
        functions: list[Callable[..., Any]] = []
        return Request(
            name, target, sent(args, functions), sent(kwargs, functions), functions=functions, **options
        )

    def _note(self, outcome: Outcome, call: Call) -> None:
        self._measured.flops += outcome.flops
        self._note_tensors(*outcome.tensors_made or (0, 0, (), ""))
        call.gradients = outcome.gradients
        if outcome.gradients is not None:
            self._measured.gradients.append(outcome.gradients)
            self._measured.calls.append(call)
        self._measured.overwritten = self._measured.overwritten or outcome.overwritten
        if outcome.arguments is not None:
            self._measured.changed += _changed(call.args, call.kwargs, outcome.arguments)

    def _note_tensors(self, written: int, elements: int, shape: Sequence[int], operation: str) -> None:
        self._measured.written += written
        if elements > self._measured.largest.elements:
            self._measured.largest = LargestTensor(elements, tuple(shape), operation)

    def build(self, source: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """Execute the grader's source text in the worker, call its `name` and return the result. This makes
        objects that cannot be sent, such as models. The text can use the variable `device`."""
        request = self._request(name, None, list(args), kwargs, build=source)
        value = self.perform(request).value
        if isinstance(value, Handle):
            self._built.add(value.id)
        return self._received(value)

    def anatomy(self, module: RemoteObject) -> dict[str, Any]:
        """Return the `parameters` and `buffers` of a PyTorch module by name, `shared` names, `training`."""
        found = self.perform(Request("", bare(module._handle), anatomy=True)).value
        return {**found, "parameters": dict(found["parameters"])}

    def memory_of(self, target: RemoteObject) -> int:
        """Return how many numbers an object in the worker holds: the elements of all tensors that can be
        reached from it, whole storages, each counted once; needs PyTorch."""
        return int(self.perform(Request("", bare(target._handle), memory=True)).value)

    def read(self, name: str, target: Handle) -> Any:
        """Return an attribute of an object in the worker."""
        return self._received(self.perform(Request(name, bare(target), read=True)).value)

    def _received(self, value: Any) -> Any:
        if isinstance(value, Handle):
            return RemoteObject(self, value)
        if isinstance(value, TensorOutline):
            self._measured.devices.append(value.device)
            return _meta_tensor(value)
        if type(value) in (list, tuple):
            return type(value)(self._received(item) for item in value)
        if type(value) is dict:
            return {key: self._received(item) for key, item in value.items()}
        return value


def _attempted(perform: Callable[[Request], Outcome], request: Request) -> Outcome | Exception:
    try:
        return perform(request)
    except Exception as error:
        return error


def _meta_tensor(value: TensorOutline) -> Any:
    import torch

    return torch.empty(value.shape, dtype=getattr(torch, value.dtype), device="meta")


def _changed(args: list[Any], kwargs: dict[str, Any], after: Any) -> list[str]:
    """Return the names of the arguments whose bits have changed."""
    from grader.values.comparison import Tolerance, first_difference

    pairs = [(f"argument {i + 1}", b, a) for i, (b, a) in enumerate(zip(args, after[0], strict=True))]
    pairs += [(name, kwargs[name], after[1][name]) for name in kwargs]
    plain = [(name, _without_objects(before), _without_objects(now)) for name, before, now in pairs]
    return [name for name, before, now in plain if first_difference(before, now, Tolerance(terms=0))]


def _without_objects(value: Any) -> Any:
    """Return the value with None in place of objects and functions, which have no bits to compare."""
    if type(value) in (list, tuple):
        return [_without_objects(item) for item in value]
    if type(value) is dict:
        return {key: _without_objects(item) for key, item in value.items()}
    stays = isinstance(value, Handle | RemoteObject) or (callable(value) and not hasattr(value, "shape"))
    return None if stays else value
