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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from grader.expect import SubmissionFailed
from grader.worker.calls import Call, LargestTensor, Listener, Measured
from grader.worker.protocol.codec import Handle, TensorOutline
from grader.worker.protocol.messages import (
    AS_USUAL,
    BuildObject,
    CallFunction,
    CallOptions,
    CountNumbers,
    DescribeModule,
    Outcome,
    ReadAttribute,
    Request,
)
from grader.worker.protocol.outlines import ArrayOutline
from grader.worker.proxies import Function, RemoteObject, bare, sent, without_objects


class Student:
    """The base class of local and remote students."""

    def __init__(self) -> None:
        self._kept: list[Call] | None = None  # the requests of the innermost block of `KeptCalls`
        self._options = AS_USUAL
        self._measured = Measured()
        self._built: set[int] = set()
        self._listener: Listener | None = None

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
        self._options, self._measured = CallOptions(**options), Measured()
        try:
            yield self._measured
        finally:
            self._options, self._measured = before

    @contextmanager
    def telling(self, listener: Listener | None) -> Iterator[None]:
        """Tell `listener` each call in the block that has ended. What it raises ends the check that calls."""
        before, self._listener = self._listener, listener
        try:
            yield
        finally:
            self._listener = before

    def counting_flops(self) -> Any:
        """Count the floating-point operations of the calls in the block; needs PyTorch.

        Returns:
            A context manager; after the block its value has the number in `flops`.

        Example:
            with student.counting_flops() as work:
                student.distances(x, centers)
            expect.true(work.flops < 1000, "One point and 8 centers take less than 1000 operations.")
        """
        return self._with(measure="flops")

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
        return self._with(measure="tensors")

    def recording_gradients(self, evaluating: bool = False) -> Any:  # noqa: FBT001, FBT002 - promised
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
        return self._with(measure="gradients", evaluating=evaluating)

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
        return self._with(measure="fake device")

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

    def in_grad_mode(self, is_on: bool) -> Any:  # noqa: FBT001 - promised
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
        functions: list[Callable[..., Any]] = []
        request = CallFunction(
            name=name,
            target=bare(target),
            args=sent(args, functions),
            kwargs=sent(kwargs, functions),
            options=self._options,
        )
        request.functions = [_listening(function, record) for function in functions]
        try:
            outcome = self.perform(request)
        except SubmissionFailed as failure:
            record.error = failure.kinds
            self._tell(record)
            raise
        record.value = self._value_to_keep(outcome.value)
        for value in [*args, *kwargs.values()]:
            if isinstance(value, ArrayOutline):
                record.on_device |= value.state()
        self._note(outcome, record)
        self._tell(record)
        return self._received(outcome.value)

    def _tell(self, call: Call) -> None:
        if self._listener is not None:
            self._listener(call)

    def _value_to_keep(self, value: Any) -> Any:
        return value

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
        functions: list[Callable[..., Any]] = []
        given = sent(list(args), functions), sent(kwargs, functions)
        request = BuildObject(text=source, name=name, args=given[0], kwargs=given[1], functions=functions)
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
        found = self.perform(DescribeModule(target=bare(module._handle))).value
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
        return int(self.perform(CountNumbers(target=bare(target._handle))).value)

    def read(self, name: str, target: Handle) -> Any:
        """Return an attribute of an object in the worker."""
        value = self.perform(ReadAttribute(name=name, target=bare(target))).value
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
