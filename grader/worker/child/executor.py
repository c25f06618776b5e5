"""Carry out requests on one loaded module: call functions, read attributes, keep objects.

The same executor runs submissions, references and known mistakes, so that all of them are called, measured
and differentiated in the same way.
"""

from __future__ import annotations

import io
import linecache
import random
import sys
import types
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from grader.worker.child import instrumentation, kernels, memory
from grader.worker.child.kernels.launching import DeviceArray
from grader.worker.child.on_fake_device import call_on_device, call_on_fake_device
from grader.worker.child.tracing import MADE_TO_CHANGE, LineTracer, undoing
from grader.worker.protocol.codec import (
    DTYPES,
    MAX_BODY,
    MAX_DEPTH,
    Callback,
    Handle,
    Malformed,
    TensorOutline,
    encode,
    name_of,
)
from grader.worker.protocol.messages import (
    BuildObject,
    CallFunction,
    CallOptions,
    CountNumbers,
    DescribeModule,
    Outcome,
    ReadAttribute,
    Request,
)

MOST_HELD = 12  # results that are held
kernels.modules()  # a sandbox lets nothing of the grader be imported later


class Executor:
    """Carries out requests on a module, and keeps the objects that they return."""

    def __init__(
        self,
        module: Any,
        call_back: Callable[[int, list[Any]], Any] | None = None,
        device: str = "cpu",
        hide: Callable[[], object] = bool,
    ) -> None:
        """`hide` takes counters from the lists of the garbage collector."""
        self.hide = hide
        self.module = module
        self.device = device
        self.built: dict[str, types.SimpleNamespace] = {}
        self.objects: dict[int, Any] = {}
        self.call_back = call_back
        self._number = self._kept = 0
        self._tracer: LineTracer | None = None  # of the last call that was traced
        #: The last results, their bytes when they were returned, and whether the next calls may not change
        #: them. What a method returns may be a view of its object, and is held for one call.
        self._held: list[tuple[Any, bytes, bool]] = []

    def run(self, request: Request) -> Outcome:
        """Carry out a request. Raises whatever the submission raises, and Malformed if a result cannot be
        sent."""
        self._number, self._kept = request.number, 0
        carry_out: dict[type[Request], Callable[[Any], Outcome]] = {
            CallFunction: self._call,
            ReadAttribute: self._read,
            BuildObject: self._build,
            DescribeModule: self._describe,
            CountNumbers: self._count,
        }
        return carry_out[type(request)](request)

    def _owner(self, request: Request) -> Any:
        return self.module if request.target is None else self.objects[request.target.id]

    def _read(self, request: ReadAttribute) -> Outcome:
        return Outcome(value=self.plain(getattr(self._owner(request), request.name)))

    def _describe(self, request: DescribeModule) -> Outcome:
        return Outcome(value=self.plain(instrumentation.anatomy(self._owner(request))))

    def _count(self, request: CountNumbers) -> Outcome:
        return Outcome(value=memory.elements_held(self._owner(request), self.module, apart_from=self))

    def _build(self, request: BuildObject) -> Outcome:
        args, kwargs = self._resolve(request.args), self._resolve(request.kwargs)
        value = getattr(self._execute(request.text), request.name)(*args, **kwargs)
        return Outcome(value=self.plain(_moved(value, self.device)))

    def _call(self, request: CallFunction) -> Outcome:
        options, owner = request.options, self._owner(request)
        args, kwargs = self._resolve(request.args), self._resolve(request.kwargs)
        function = owner if request.name == "__call__" else getattr(owner, request.name)
        given, trace = [owner, *args, *kwargs.values()], None
        made_to_change = request.target is not None and request.name in MADE_TO_CHANGE
        call = self._measured
        if options.trace and not made_to_change:
            self._tracer = LineTracer(self.module, given, self._tracer.spent if self._tracer else 0.0)
            function, trace = self._tracer.around(function), self._tracer.trace
        elif options.undo and not made_to_change and not isinstance(function, type):
            undo = undoing({(kind, name) for kind, name in options.undo}, self.module, given)
            if options.grad_mode:  # looks at the mode after the call
                function = undo(function)
            else:  # the others look at the module that is called
                call = undo(call)
        # what is needed after the call is in local variables, which no other code can set
        hold, echo, held = options.hold, options.echo, tuple(self._held)
        value, measured = call(options, function, args, kwargs, given)
        outcome = Outcome(value=self.plain(_moved(value, self.device)), trace=trace, **measured)
        if hold:
            outcome.overwritten = any(_bytes_of(result) != before for result, before, _ in held)
            earlier = [result for result, _, _ in held]
            outcome.shared = request.target is None and memory.is_shared(
                outcome.value, earlier, [args, kwargs]
            )
            outcome.entangled = memory.is_entangled(outcome.value, [args, kwargs])
            lasting = request.target is None or request.name == "__call__"
            self._held = [result for result in held if result[2]][1 - MOST_HELD :]
            self._held.append((outcome.value, _bytes_of(outcome.value), lasting))
        if echo:
            outcome.arguments = self.plain([args, kwargs])
        return outcome

    def _measured(
        self,
        options: CallOptions,
        function: Any,
        args: list[Any],
        kwargs: dict[str, Any],
        given: list[Any],
    ) -> tuple[Any, dict[str, Any]]:
        """Return the result of a call, and the fields of the outcome that the request measures beside it."""
        value, measured = None, dict[str, Any]()
        if options.evaluating:
            instrumentation.put_into_evaluation(function)
        if options.constant and not callable(function):
            value = function
        elif options.measure == "gradients":
            value, measured["gradients"] = instrumentation.with_gradients(function, args, kwargs)
        elif options.measure == "flops":
            value, measured["flops"] = instrumentation.with_flops(self._hiding(function), args, kwargs)
        elif options.measure == "tensors":
            value, measured["tensors_made"] = memory.with_tensors_made(self._hiding(function), args, kwargs)
        elif options.measure == "fake device":
            if self.device == "cpu":
                # what a call on the CPU leaves behind would be put back, after both calls
                before = not options.undo
                value, measured["detour"] = call_on_fake_device(function, args, kwargs, on_cpu_before=before)
            else:
                value, measured["detour"] = call_on_device(function, args, kwargs)
        elif options.grad_mode:
            is_on = options.grad_mode == "on"
            value, measured["left_changed"] = instrumentation.with_grad_mode(
                function, args, kwargs, given, is_on=is_on
            )
        else:
            value = function(*args, **kwargs)
        return value, measured

    def _hiding(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that hides what was made to count a call, and calls `function`."""
        hide = self.hide

        def call(*args: Any, **kwargs: Any) -> Any:
            hide()
            return function(*args, **kwargs)

        return call

    def _execute(self, source: str) -> types.SimpleNamespace:
        """Execute the grader's source text once, with the variable `device`, and return its definitions."""
        if source not in self.built:
            names: dict[str, Any] = {"__name__": "built", "device": self.device}
            exec(compile(source, "built.py", "exec", dont_inherit=True), names)
            self.built[source] = types.SimpleNamespace(**names)
        return self.built[source]

    def _resolve(self, value: Any) -> Any:
        """Replace handles by their objects and callbacks by functions; lists and dicts are copied."""
        if isinstance(value, Handle):
            return self.objects[value.id]
        if isinstance(value, Callback):
            function = self._supplied(value.id)
            if value.array is None:
                return function
            return DeviceArray(value.array, self._in_this_request(function))
        if type(value) in (list, tuple):
            return type(value)(self._resolve(item) for item in value)
        if type(value) is dict:
            return {key: self._resolve(item) for key, item in value.items()}
        return value

    def _in_this_request(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that raises once another request has begun, since its number is then that of
        another array."""
        made = self._number

        def in_this_request(*args: Any) -> Any:
            if self._number != made:
                raise RuntimeError("An array of an earlier call is used: each call has arrays of its own.")
            return function(*args)

        return in_this_request

    def _supplied(self, number: int) -> Callable[..., Any]:
        """Return a function of the grader as a submission gets it."""

        def supplied(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                raise TypeError(f"this function takes no argument by name: give {next(iter(kwargs))} alone")
            return self.call_back(number, self.plain(list(args)))  # type: ignore[misc]  # a worker always has call_back

        return supplied

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Return a value that can be encoded: array subclasses become plain arrays, other objects handles.

        No method of a submission's class runs: the call has been measured already."""
        if depth > MAX_DEPTH:
            raise Malformed("the value is nested too deeply")
        kind = type(value)  # `isinstance` would believe an object's `__class__`
        if value is None or kind in (bool, int, float, str, Handle, TensorOutline):
            return value
        if issubclass(kind, np.ndarray):
            return self._plain_array(np.ndarray.view(value, np.ndarray))
        if issubclass(kind, np.generic):
            array: Any = np.ndarray.view(np.asarray(value), np.ndarray)
            return array[()] if name_of(array.dtype) in DTYPES else self._keep(value)
        torch = sys.modules.get("torch")
        if torch is not None and issubclass(kind, torch.Tensor):
            return _plain_tensor(torch, value)
        for plain in (tuple, list):
            if issubclass(kind, plain):
                return plain(self.plain(item, depth + 1) for item in plain.__iter__(value))
        if issubclass(kind, dict) and all(type(key) in (str, int) for key in dict.keys(value)):
            return {key: self.plain(item, depth + 1) for key, item in dict.items(value)}
        return self._keep(value)

    def _plain_array(self, array: np.ndarray[Any, Any]) -> Any:
        if name_of(array.dtype) not in DTYPES or not array.dtype.isnative:
            return self._keep(array, f"ndarray of dtype {array.dtype.name}")
        if array.size * array.itemsize > MAX_BODY:
            raise Malformed(f"the array of shape {array.shape} is too large to be an answer")
        return array

    def _keep(self, value: Any, type_name: str = "") -> Handle:
        self._kept += 1
        number = (self._number << 32) + self._kept
        self.objects[number] = value
        return Handle(number, type_name or type(value).__name__, callable(value))


def _bytes_of(value: Any) -> bytes:
    if type(value) is np.ndarray:  # most are one, and `encode` takes ten times as long
        return f"{value.dtype.str} {value.shape} ".encode() + value.tobytes()
    header, buffers = encode({"value": value})
    return b"".join((header, *buffers))


def _plain_tensor(torch: Any, value: Any) -> Any:
    with torch._C.DisableTorchFunction():  # also what the submission has entered as a mode
        if torch._C._dispatch_keys(value).has(torch._C.DispatchKey.Python):
            raise Malformed("it is a tensor whose class has operations of its own")
        tensor = torch.Tensor.as_subclass(value, torch.Tensor)
        if tensor.is_meta:
            return TensorOutline.of(tensor)
        if tensor.layout is not torch.strided or tensor.nbytes > MAX_BODY:
            raise Malformed(f"the tensor of shape {tuple(tensor.shape)} is too large or not dense")
        return tensor.detach()


def seed_random_numbers(seed: int = 0) -> None:
    """Seed the global generators, so that code that draws from them is judged alike every time."""
    random.seed(seed)
    np.random.seed(seed)
    if torch := sys.modules.get("torch"):
        # For every kind of GPU that is not in use, torch.manual_seed keeps the stack of its call.
        has_gpu = torch.accelerator.current_accelerator() is not None
        (torch if has_gpu else torch.default_generator).manual_seed(seed)


def load_module(name: str, source: str, filename: str = "", recorder: str = "") -> types.ModuleType:
    """Execute a source text as the module `name` and return the module. `filename`, or `name`.py, is the file
    name in tracebacks and warnings, which also find its lines. `recorder` names a function of the grader's in
    it that kernels may call."""
    filename = filename or f"{name}.py"
    module = types.ModuleType(name)
    module.__file__ = filename
    linecache.cache[filename] = (len(source), None, list(io.StringIO(source, newline=None)), filename)
    sys.modules[name] = module
    kernels.give_to(vars(module), source)
    exec(compile(source, filename, "exec", dont_inherit=True), vars(module))
    if recorder:
        kernels.let_in(vars(module)[recorder])
    return module


def describe_error(error: BaseException, filename: str) -> dict[str, Any]:
    """Return an error's class names as `kinds`, its `message`, and the last `line` of `filename` in its
    traceback with the `columns` of the expression in bytes, each or None."""
    line, columns = _last_place(error.__traceback__, filename)
    try:
        message = str(error)[:2000]
    except Exception:
        message = ""
    if isinstance(error, SyntaxError):
        line, columns, message = error.lineno, None, str(error.msg)
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind not in (object, BaseException)]
    return {"kinds": kinds or ["BaseException"], "message": message, "line": line, "columns": columns}


def _last_place(
    frames: types.TracebackType | None, filename: str
) -> tuple[int | None, tuple[int, int] | None]:
    """Return the last line of the file in a traceback, and the columns of an expression within it."""
    line: int | None = None
    columns: tuple[int, int] | None = None
    while frames is not None:  # unlike `traceback.extract_tb`, this reads no files
        code = frames.tb_frame.f_code
        if code.co_filename == filename:
            first, last, start, end = next(islice(code.co_positions(), frames.tb_lasti // 2, None))
            line, columns = frames.tb_lineno, None
            if first == last == line and start is not None and end is not None:
                columns = start, end
        frames = frames.tb_next
    return line, columns


def _moved(value: Any, device: str) -> Any:
    """Move a new module to the device of its inputs; return any other value unchanged."""
    torch = sys.modules.get("torch")
    if device != "cpu" and torch is not None and isinstance(value, torch.nn.Module):
        return value.to(device)
    return value
