"""The interface `student`, through which checks call a submission in a worker or in this process.

    student.normalize(x, axis=0)           a call
    queue = student.Queue()                a proxy for an object in the worker; len(queue), queue.append(…)
    queue.__mul__(2)                       an operator of the object; a report shows `queue * 2`
    student.build(SOURCE, "Model", 8)      a proxy for an object from the grader's source text
    with student.counting_flops() as work: work.flops
    with student.counting_largest_tensor() as made: made.largest, made.written
    student.memory_of(queue)               how many numbers its tensors hold
    with student.recording_gradients() as tape: tape.gradients
    with student.pretending_device() as life: life.devices

A `KeptCalls` block keeps the calls that a verdict is about.

Represent the submission's functions and objects in the grader by proxies.

Send the calls of many cases as one batch.

Most of a call is spent waiting for the worker. So the cases of a check run concurrently, each in a greenlet,
and their calls are sent together: the first call of every case, then the second, and so on. A case that
builds an object from the grader's source, or passes a function, may depend on state outside of its own
objects: from that call on it runs alone until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from greenlet import getcurrent, greenlet

from grader.expect import ExpectationFailed, SubmissionFailed
from grader.worker.protocol.codec import Callback, Handle, TensorOutline
from grader.worker.protocol.messages import Outcome, Request


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

    def anew(self) -> AbstractContextManager[Any]:
        """Run each call in the block in a new worker, which has seen no call before. References and mistakes
        are trusted, and stay in their process."""
        return self.student._with(anew=True) if isinstance(self.student, Student) else nullcontext()


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
    if callable(value) and not hasattr(value, "shape"):
        functions.append(value)
        return Callback(len(functions) - 1)
    return value


@dataclass
class Call:
    """One call and its result: a value, its gradients if recorded, or the class names of its error. `helping`
    is True if the call went to an object from `build`. `flops` and `largest` are set if they are counted.

    `target` is the object whose method was called, `options` are those of the request, and `answers` hold the
    calls of each function that was passed, by its id: the arguments and the result. A call of `build` has its
    `source`, a reading of an attribute is marked by `is_read`, a call whose answer counts for nothing by
    `is_aside`, one whose answer may be chosen by `is_free`, and one in which a passed function raised an
    exception by `is_stopped`."""

    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    value: Any = None
    error: tuple[str, ...] = ()
    gradients: dict[str, Any] | None = None
    helping: bool = False
    flops: int = 0
    largest: LargestTensor | None = None
    target: Handle | None = None
    options: dict[str, Any] = field(default_factory=dict)
    answers: dict[int, list[tuple[list[Any], Any]]] = field(default_factory=dict)
    source: str = ""
    is_read: bool = False
    is_aside: bool = False
    is_free: bool = False
    is_stopped: bool = False


class Calls(NamedTuple):
    """The requests that a verdict is about, in order, and those made `earlier`, on which they may depend."""

    requests: tuple[Call, ...] = ()
    earlier: tuple[Call, ...] = ()

    @property
    def judged(self) -> list[Call]:
        """The calls of the submission whose answers are judged, and compared with those of known mistakes."""
        return [call for call in self.requests if not (call.source or call.is_read or call.is_aside)]

    def until(self, call: Call | None) -> Calls:
        """Return the calls up to this one and with it; all calls if it is not among them."""
        at = next((index for index, one in enumerate(self.requests) if one is call), len(self.requests))
        return Calls(self.requests[: at + 1], self.earlier)


class Skip(Exception):
    """The check cannot judge this case; `reason` says why if the submission prevents it."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class CaseFailed(Exception):
    """A case fails: `why` was raised, an expectation that does not hold or an error, and it is about `calls`.
    The last of them is the call that is complained about."""

    def __init__(self, why: Exception, calls: Calls) -> None:
        super().__init__(why, calls)
        self.why, self.calls = why, calls

    @property
    def is_refusal(self) -> bool:
        """Whether the submission raised, or an expectation of what it returned does not hold."""
        return isinstance(self.why, SubmissionFailed | ExpectationFailed)

    def __str__(self) -> str:
        return str(self.why)


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
    changed_arguments: list[tuple[Call, str, Any]] = field(default_factory=list)  # call, name, value before
    overwritten: bool = False
    shared: bool = False
    entangled: bool = False
    left_changed: str = ""
    detour: int = 0


class KeptCalls:
    """A block that keeps the requests to a student in a list of its own; a block inside it does so as well.
    What the block raises is raised as CaseFailed, with its requests and those made `earlier`."""

    def __init__(self, student: Student, earlier: Sequence[Call] = ()) -> None:
        self._student, self._earlier = student, earlier
        self._made: list[Call] = []
        self._outer: list[Call] | None = None

    def __enter__(self) -> list[Call]:
        self._outer, self._student._kept = self._student._kept, self._made
        return self._made

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._student._kept = self._outer
        if isinstance(error, Exception) and not isinstance(error, CaseFailed):
            raise CaseFailed(error, Calls(tuple(self._made), tuple(self._earlier))) from error


class Student:
    """The base class of local and remote students."""

    def __init__(self) -> None:
        self._kept: list[Call] | None = None  # the requests of the innermost block of `KeptCalls`
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
    def _with(self, **options: Any) -> Iterator[Measured]:
        before = self._options, self._measured
        self._options, self._measured = options, Measured()
        try:
            yield self._measured
        finally:
            self._options, self._measured = before

    def counting_flops(self) -> Any:
        """Count the floating-point operations of the calls in the block; needs PyTorch.

        Returns:
            A context manager; after the block its value has the number in `flops`.

        Example:
            with student.counting_flops() as work:
                student.distances(x, centers)
            expect.true(work.flops < 1000, "One point and 8 centers take less than 1000 operations.")
        """
        return self._with(count_flops=True)

    def counting_largest_tensor(self) -> Any:
        """Record the largest tensor that a call in the block makes, and count the numbers that it writes.

        The calls run without gradients. Work in NumPy, in plain Python or inside a fused kernel is not seen;
        a lower limit for `written` finds it. Needs PyTorch.

        Returns:
            A context manager; its value has the `largest` tensor, with `elements`, `shape` and `operation`,
            and the number of entries `written`.

        Example:
            with student.counting_largest_tensor() as made:
                student.distances(x, centers, 8)
            expect.true(made.largest.elements <= 768, f"The call made {made.largest}.")
        """
        return self._with(tensors_made=True)

    def recording_gradients(self, evaluating: bool = False) -> Any:
        """Differentiate each call in the block with respect to its floating arguments and parameters.

        Fixed random weights make one number of each result, which is differentiated. With
        `grades_gradients=True` a kata compares gradients with the reference's; a law rarely needs this.

        Args:
            evaluating: Whether modules are called in evaluation mode, whatever mode they are in.

        Returns:
            A context manager; its value has in `gradients` a dict for each call. Arguments are called
            `args[0]` or by their names, parameters of a module as in its `state_dict`.

        Example:
            with student.recording_gradients() as tape:
                student.normalize(x)
            expect.close(tape.gradients[0]["args[0]"].sum(), 0.0, "the sum of the gradient by x")
        """
        return self._with(gradients=True, evaluating=evaluating)

    def pretending_device(self) -> Any:
        """Run the calls in the block on a fake device, which has no values; needs PyTorch.

        Returns:
            A context manager; its value lists in `devices` where each result is. In `detour` it has the line
            from which a tensor of floats went to the CPU, if what was computed from it there came back; else
            0. Integers, numbers and what NumPy computes are no detour.

        Example:
            with student.pretending_device() as life:
                student.mask(x)
            expect.true("cpu" not in life.devices, "The mask is on the device of x.")
        """
        return self._with(fake_device=True)

    def watching_arguments(self) -> Any:
        """Record the arguments that a call in the block changes in place.

        Returns:
            A context manager; its value has their names in `changed`: `argument 1`, or the keyword.

        Example:
            with student.watching_arguments() as watched:
                student.normalize(x)
            expect.true(not watched.changed, "x is left as it was.")
        """
        return self._with(echo=True)

    def holding_results(self) -> Any:
        """Notice whether a call in the block changes the result of the call before it.

        Returns:
            A context manager; its value is true in `overwritten` if one does, in `shared` if a function
            returns an array that it has returned before, and in `entangled` if one returns a NumPy array
            that can be written and some of whose entries have the same memory.

        Example:
            with student.holding_results() as held:
                cache.append(k, v), cache.append(k, v)
            expect.true(not held.overwritten, "A second call leaves the first result as it was.")
        """
        return self._with(hold=True)

    def in_grad_mode(self, is_on: bool) -> Any:
        """Run the calls in the block as code that has switched gradients on or off; needs PyTorch.

        Args:
            is_on: The gradient mode of the caller.

        Returns:
            A context manager; its value tells in `left_changed` what a call left in another mode:
            `gradients`, PyTorch's default `dtype`, or `training` for a module that it was given. It has
            `changed` and `overwritten` as the values of `watching_arguments` and `holding_results`.

        Example:
            with student.in_grad_mode(False) as mode:
                student.predict(model, x)
            expect.true(not mode.left_changed, "The mode is as it was.")
        """
        return self._with(grad_mode="on" if is_on else "off", echo=True, hold=True)

    def call(self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Perform one call. Raises SubmissionFailed, WorkerLost."""
        helping = target is not None and target.id in self._built
        record = Call(name, args, kwargs, helping=helping, target=target, options=self._options)
        self._keep(record)
        request = self._request(name, bare(target), args, kwargs, **self._options)
        request.functions = [_listening(function, record) for function in request.functions]
        try:
            outcome = self.perform(request)
        except SubmissionFailed as failure:
            record.error = failure.kinds
            raise
        record.value = self._value_to_keep(outcome.value)
        self._note(outcome, record)
        return self._received(outcome.value)

    def _value_to_keep(self, value: Any) -> Any:
        return value

    def _request(
        self, name: str, target: Handle | None, args: list[Any], kwargs: dict[str, Any], **options: Any
    ) -> Request:
        functions: list[Callable[..., Any]] = []
        return Request(
            name, target, sent(args, functions), sent(kwargs, functions), functions=functions, **options
        )

    def _note(self, outcome: Outcome, call: Call) -> None:
        call.flops = outcome.flops
        self._measured.flops += outcome.flops
        if outcome.tensors_made is not None:
            self._note_tensors(call, *outcome.tensors_made)
        call.gradients = outcome.gradients
        if outcome.gradients is not None:
            self._measured.gradients.append(outcome.gradients)
            self._measured.calls.append(call)
        self._measured.left_changed = self._measured.left_changed or outcome.left_changed
        self._measured.detour = self._measured.detour or outcome.detour
        self._measured.overwritten = self._measured.overwritten or outcome.overwritten
        self._measured.shared = self._measured.shared or outcome.shared
        self._measured.entangled = self._measured.entangled or outcome.entangled
        if outcome.arguments is not None:
            changed = _changed(call.args, call.kwargs, outcome.arguments)
            self._measured.changed += [name for name, _ in changed]
            self._measured.changed_arguments += [(call, name, value) for name, value in changed]

    def _note_tensors(
        self, call: Call, written: int, elements: int, shape: Sequence[int], operation: str
    ) -> None:
        call.largest = LargestTensor(elements, tuple(shape), operation)
        self._measured.written += written
        if elements > self._measured.largest.elements:
            self._measured.largest = call.largest

    def constant(self, name: str, **numbers: Any) -> Any:
        """Return a constant of the submission; where it is a function, what it returns for the numbers.

        Args:
            name: The name of the constant.
            **numbers: The arguments of a function, such as a reference's.

        Returns:
            The value.

        Example:
            answer = student.constant("PARAMETERS", d_model=64)
        """
        with self._with(constant=True):
            return self.call(name, None, [], numbers)

    def build(self, source: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """Run a source text of the course beside the submission, call one of its functions or classes.

        It makes objects that cannot travel, such as generators and models. A text is executed once and
        keeps its variables; it can use the variable `device`. Pass the result to the submission as an
        argument, or to another function of the text.

        Args:
            source: The source text. It may import NumPy and PyTorch.
            name: The function or the class to call.
            *args: Its positional arguments, which may be results of earlier calls.
            **kwargs: Its keyword arguments.

        Returns:
            The result: a plain value if it can travel, else a proxy for the object.

        Example:
            RNG = "import numpy as np\\n\\ndef seeded(seed):\\n    return np.random.default_rng(seed)"
            rng = student.build(RNG, "seeded", 7)
            index = student.draw(p, rng)
        """
        request = self._request(name, None, list(args), kwargs, build=source)
        value = self.perform(request).value
        if isinstance(value, Handle):
            self._built.add(value.id)
        self._keep(Call(name, list(args), kwargs, value, source=source))
        return self._received(value)

    def anatomy(self, module: RemoteObject) -> dict[str, Any]:
        """Return what a PyTorch module of the submission consists of.

        Args:
            module: The module, a result of an earlier call.

        Returns:
            A dict with `parameters` and `buffers` by name, the lists of names that are `shared` by one
            parameter, and the flag `training`.

        Example:
            parts = student.anatomy(student.LayerNorm(8))
            expect.equal(sorted(parts["parameters"]), ["scale", "shift"], "the list of parameters")
        """
        found = self.perform(Request("", bare(module._handle), anatomy=True)).value
        return {**found, "parameters": dict(found["parameters"])}

    def memory_of(self, target: RemoteObject) -> int:
        """Return how many numbers can be reached from an object in the worker, or from the submission's
        globals.

        Tensors, arrays, bytes, text and lists count. Whole storages count, each once, so a view counts as
        the tensor behind it. Up to 64 numbers outside of tensors and arrays do not count. Needs PyTorch.

        Args:
            target: An object that the submission made.

        Returns:
            The number of entries.

        Example:
            held = student.memory_of(cache)
            expect.true(held <= limit, f"The cache may hold {limit} numbers. It holds {held}.")
        """
        return int(self.perform(Request("", bare(target._handle), memory=True)).value)

    def read(self, name: str, target: Handle) -> Any:
        """Return an attribute of an object in the worker."""
        value = self.perform(Request(name, bare(target), read=True)).value
        self._keep(Call(name, [], {}, value, target=target, is_read=True))
        return self._received(value)

    def _keep(self, call: Call) -> None:
        if self._kept is not None:
            self._kept.append(call)

    def _received(self, value: Any) -> Any:
        if isinstance(value, Handle):
            return RemoteObject(self, value)
        if isinstance(value, TensorOutline):
            self._measured.devices.append(value.device)
            return value if value.is_array else _meta_tensor(value)
        if type(value) in (list, tuple):
            return type(value)(self._received(item) for item in value)
        if type(value) is dict:
            return {key: self._received(item) for key, item in value.items()}
        return value


def _listening(function: Callable[..., Any], call: Call) -> Callable[..., Any]:
    """Return the function, which then records its arguments and results in `call.answers`."""

    def listening(*args: Any) -> Any:
        try:
            result = function(*args)
        except Exception:
            call.is_stopped = True
            raise
        call.answers.setdefault(id(function), []).append((list(args), result))
        return result

    return listening


def _attempted(perform: Callable[[Request], Outcome], request: Request) -> Outcome | Exception:
    try:
        return perform(request)
    except Exception as error:
        return error


def _meta_tensor(value: TensorOutline) -> Any:
    import torch

    return torch.empty(value.shape, dtype=getattr(torch, value.dtype), device="meta")


def _changed(args: list[Any], kwargs: dict[str, Any], after: Any) -> list[tuple[str, Any]]:
    """Return the names of the arguments whose bits have changed, and their values before."""
    from grader.values.comparison import Tolerance, first_difference

    pairs = [(f"argument {i + 1}", b, a) for i, (b, a) in enumerate(zip(args, after[0], strict=True))]
    pairs += [(name, kwargs[name], after[1][name]) for name in kwargs]
    return [
        (name, before)
        for name, before, now in pairs
        if first_difference(without_objects(before), without_objects(now), Tolerance(terms=0))
    ]


def without_objects(value: Any) -> Any:
    """Return the value with None in place of objects and functions, which have no bits to compare."""
    if type(value) in (list, tuple):
        return [without_objects(item) for item in value]
    if type(value) is dict:
        return {key: without_objects(item) for key, item in value.items()}
    stays = isinstance(value, Handle | RemoteObject) or (callable(value) and not hasattr(value, "shape"))
    return None if stays else value


TOGETHER = 16  # cases that run concurrently; more would only keep more answers in memory
LEVELS = 22  # on which a case runs in its greenlet, each of three C frames or more

Result = TypeVar("Result")


class CaseStudent(Student):
    """The student of one case: it keeps its own calls, and they wait until the batch is sent."""

    def perform(self, request: Request) -> Outcome:
        hub = getcurrent().parent
        assert hub is not None
        outcome: Outcome = hub.switch(request)
        return outcome


def on_many_frames(run: Callable[[Student], Result], student: Student, levels: int = LEVELS) -> Result:
    """Return what `run` returns, called through so many levels of C functions.

    Where PyTorch raises an error, it looks at the last 65 C frames. Those on which a greenlet was started may
    be overwritten by then, and it would crash the process.
    """
    if not levels:
        return run(student)
    called: Iterator[Any] = map(on_many_frames, (run,), (student,), (levels - 1,))
    result: Result = next(called)
    return result


class RunningCase(Generic[Result]):
    """A case. `yielded` is the request that it waits for or, when it has ended, its result."""

    def __init__(self, run: Callable[[Student], Result]) -> None:
        self._greenlet = greenlet(partial(on_many_frames, run))
        self._greenlet.gr_context = copy_context()
        self.yielded: Any = self._greenlet.switch(CaseStudent())
        self._alone = False

    @property
    def waits(self) -> bool:
        """True until the case has ended."""
        return not self._greenlet.dead

    @property
    def alone(self) -> bool:
        """True if no calls of other cases may run until this case ends."""
        self._alone = self._alone or bool(self.yielded.build or self.yielded.functions)
        return self._alone

    def resume(self, answer: Outcome | Exception) -> None:
        """Continue the case with the answer to its request, up to its next call. Raises what it raises."""
        go_on = self._greenlet.throw if isinstance(answer, Exception) else self._greenlet.switch
        self.yielded = go_on(answer)


def run_together(student: Student, runs: Sequence[Callable[[Student], Result]]) -> Iterator[Result]:
    """Yield the result of every run, in order, and send their calls to `student` in batches. Raises what a
    run raises."""
    for start in range(0, len(runs), TOGETHER):
        cases = [RunningCase(run) for run in runs[start : start + TOGETHER]]
        while waiting := [case for case in cases if case.waits]:
            batch = list(takewhile(lambda case: not case.alone, waiting)) or waiting[:1]
            answers = student.perform_all([case.yielded for case in batch])
            for case, answer in zip(
                batch, answers, strict=False
            ):  # there are fewer answers if the worker was lost
                case.resume(answer)
        for case in cases:
            yield case.yielded
