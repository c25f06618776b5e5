"""Run calls on the fake device or on a real one, and keep PyTorch from importing its compiler."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import re
import sys
import types
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
#: Matches PyTorch's errors about tensors of two devices; "device-side" is in those of a kernel that failed.
OF_DEVICES = re.compile(r"\b(device(?!-side)|devices|cpu)\b", re.IGNORECASE)


def prepare() -> None:
    """Import the fake device if PyTorch is imported, and keep PyTorch from importing its compiler. Call this
    before the sandbox is entered, after which files cannot be read, and the grader's modules are hidden."""
    if "torch" in sys.modules:
        _fake_device()
        avoid_compiler_import()
        leave_uncompiled(sys.modules["torch"])


@functools.cache
def _fake_device() -> Any:
    return importlib.import_module("grader.worker.child.fake_device")


def avoid_compiler_import() -> None:
    """Keep PyTorch's functions from importing its compiler, which takes more than a second.

    The first call of a function that must not be compiled, such as an optimizer's `zero_grad` and `step`,
    imports the compiler to say so. Nothing is compiled here, so each is marked as excluded already.
    """
    try:
        from torch import _compile
        from torch._functorch import eager_transforms
        from torch.optim import optimizer

        for excluded in _made_by(_compile._disable_dynamo, "inner"):
            vars(excluded.__wrapped__).setdefault("__dynamo_disable", excluded.__wrapped__)
        for step in _made_by(optimizer._use_grad_for_differentiable, "_use_grad"):
            step.__code__ = _with_grad_of_optimizer(None).__code__
        eager_transforms._autograd_grad.__code__ = _grad_of_functions.__code__
    except (ImportError, AttributeError, LookupError, ValueError):  # this PyTorch has other internals
        importlib.import_module("torch._dynamo")


def leave_uncompiled(torch: Any) -> None:
    """Have `torch.compile` return what it is given. The compiler runs other programs, which the sandbox does
    not allow, and what it makes gives the same results."""
    torch.compile = types.FunctionType(_uncompiled.__code__, vars(torch), "compile", (None,))


def _uncompiled(model: Any = None, **_: Any) -> Any:
    """Take the place of `torch.compile`, and return the model as it is. `leave_uncompiled` gives it PyTorch's
    globals, so that a submission reaches no module of the grader through it."""
    return (lambda model: model) if model is None else model


def _made_by(decorator: Any, name: str) -> list[Any]:
    """Return all existing functions that a decorator has made; `name` is its inner function."""
    codes = {c.co_name: c for c in decorator.__code__.co_consts if isinstance(c, types.CodeType)}
    holders = gc.get_referrers(codes[name])
    return [holder for holder in holders if isinstance(holder, types.FunctionType)]


def _with_grad_of_optimizer(func: Any) -> Any:
    """PyTorch's decorator of `Optimizer.step` without the compiler. Its names are those in PyTorch's code."""

    def _use_grad(*args: Any, **kwargs: Any) -> Any:
        import torch

        with torch.set_grad_enabled(args[0].defaults["differentiable"]):
            return func(*args, **kwargs)

    return _use_grad


def _grad_of_functions(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool = False,  # noqa: FBT001, FBT002  # PyTorch's signature
    create_graph: bool = True,  # noqa: FBT001, FBT002
) -> Any:
    """Do what `torch.func` asks autograd for, without the compiler: an input on which no output depends has
    the gradient 0. The names are those in PyTorch's code."""
    import torch

    given = [None] * len(outputs) if grad_outputs is None else grad_outputs
    pairs = [pair for pair in zip(outputs, given, strict=False) if pair[0].requires_grad]
    if not pairs:
        return tuple(torch.zeros_like(one) for one in inputs)
    of, by = zip(*pairs, strict=True)
    found = torch.autograd.grad(
        of,
        inputs,
        None if grad_outputs is None else by,
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
    )
    return tuple(
        torch.zeros_like(one) if part is None else part for part, one in zip(found, inputs, strict=True)
    )


def call_on_fake_device(
    function: Function, args: list[Any], kwargs: dict[str, Any], *, on_cpu_before: bool = True
) -> tuple[Any, int]:
    """Call a function with all tensors, and the parameters and buffers of all modules, on the fake device; a
    module is called on the CPU before if `on_cpu_before` is true.

    Results come back as CPU tensors, and tensors that are not on the fake device as TensorOutlines, with the
    line from which a tensor has gone by way of the CPU; 0 if none has. Raises DeviceMismatch if the function
    mixes devices."""
    import torch

    fake_device = _fake_device()
    mapped, to_fake_device = fake_device.mapped, fake_device.to_fake_device
    owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    modules = [m for m in (owner, *args, *kwargs.values()) if isinstance(m, torch.nn.Module)]
    if isinstance(function, type) or (modules and _is_inherited(torch, function)):
        return function(*args, **kwargs), 0
    if (
        function is owner and on_cpu_before
    ):  # what a module keeps from a call on the CPU must not meet the fake device
        with contextlib.suppress(Exception), torch.random.fork_rng(devices=[]):
            function(*mapped(_copied, args), **mapped(_copied, kwargs))
    fake_device.detours.clear()
    with fake_device.FakeDeviceMode(), contextlib.ExitStack() as stack:
        for module in modules:
            state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
            moved = mapped(to_fake_device, state)
            stack.enter_context(
                torch.nn.utils.stateless._reparametrize_module(module, moved, tie_weights=True)
            )
        stack.enter_context(torch.no_grad())
        args, kwargs = mapped(to_fake_device, args), mapped(to_fake_device, kwargs)
        with fake_device.CudaNamesMode():
            value = function(*args, **kwargs)
        buffers = [(module, dict(module.named_buffers())) for module in modules if module is not function]
    for module, left in buffers:
        _keep(module, mapped(fake_device.from_fake_device, left))
    return mapped(fake_device.from_fake_device, value), next(iter(fake_device.detours), 0)


def call_on_device(function: Function, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, int]:
    """Call a function whose arguments are on a real device, and return what `call_on_fake_device` returns.
    Raises DeviceMismatch if PyTorch's error speaks of devices."""
    import torch

    fake_device = _fake_device()
    fake_device.detours.clear()
    try:
        with torch.no_grad(), fake_device.DetourMode():
            value = function(*args, **kwargs)
    except RuntimeError as error:
        if OF_DEVICES.search(str(error)) is None:
            raise
        raise fake_device.DeviceMismatch(str(error)).with_traceback(error.__traceback__) from None
    return fake_device.mapped(fake_device.outlined_on_cpu, value), next(iter(fake_device.detours), 0)


def _keep(module: Any, buffers: dict[str, Any]) -> None:
    """Give a module the buffers that a call has left, as a cache does whose state is in them."""
    for name, buffer in buffers.items():
        path, _, last = name.rpartition(".")
        if hasattr(buffer, "untyped_storage"):
            setattr(module.get_submodule(path), last, buffer)


def _copied(value: Any) -> Any:
    """Return a copy of a tensor, which a call may change, and any other value as it is."""
    return value.clone() if hasattr(value, "untyped_storage") else value


def _is_inherited(torch: Any, function: Function) -> bool:
    """True for methods that every module has, such as `double` and `load_state_dict`."""
    return getattr(function, "__name__", "") in vars(torch.nn.Module)
