"""Run calls on a pretended GPU, and keep PyTorch from importing its compiler."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def prepare() -> None:
    """Import what pretending needs while files can still be read, and spare calls PyTorch's compiler."""
    if "torch" in sys.modules:
        importlib.import_module("grader.worker.child.fake_device")
        spare_the_compiler()


def spare_the_compiler() -> None:
    """Keep PyTorch's functions from importing its compiler, which takes more than a second.

    The first call of a function that must not be compiled, such as an optimizer's `zero_grad` and `step`,
    imports the compiler to say so. Nothing is compiled here, so each is marked as excluded already.
    """
    from torch import _compile
    from torch.optim import optimizer

    try:
        for excluded in _made_by(_compile._disable_dynamo, "inner"):
            vars(excluded.__wrapped__).setdefault("__dynamo_disable", excluded.__wrapped__)
        for step in _made_by(optimizer._use_grad_for_differentiable, "_use_grad"):
            step.__code__ = _with_grad_of_optimizer(None).__code__
    except (AttributeError, LookupError, ValueError):  # another version of PyTorch is made differently
        importlib.import_module("torch._dynamo")


def _made_by(decorator: Any, name: str) -> list[Any]:
    """The functions that a decorator has made, each the inner function `name` of it."""
    codes = {c.co_name: c for c in decorator.__code__.co_consts if isinstance(c, types.CodeType)}
    holders = gc.get_referrers(codes[name])
    return [holder for holder in holders if isinstance(holder, types.FunctionType)]


def _with_grad_of_optimizer(func: Any) -> Any:
    """PyTorch's decorator of `Optimizer.step`, without the compiler. The name `func` is PyTorch's."""

    def _use_grad(*args: Any, **kwargs: Any) -> Any:
        import torch

        with torch.set_grad_enabled(args[0].defaults["differentiable"]):
            return func(*args, **kwargs)

    return _use_grad


class Pretence:
    """Calls on a pretended device: inputs and modules are there, and no tensor of the CPU may meet them."""

    def call(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call with every tensor moved over; a module's parameters and buffers move along."""
        import torch

        from grader.worker.child.fake_device import FakeDeviceMode, Renaming, mapped, sent_away, told

        owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        modules = [m for m in (owner, *args, *kwargs.values()) if isinstance(m, torch.nn.Module)]
        if isinstance(function, type) or (modules and _is_upkeep(torch, function)):
            return function(*args, **kwargs)
        with FakeDeviceMode(), contextlib.ExitStack() as stack:
            for module in modules:
                state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
                moved = mapped(sent_away, state)
                stack.enter_context(
                    torch.nn.utils.stateless._reparametrize_module(module, moved, tie_weights=True)
                )
            stack.enter_context(torch.no_grad())
            args, kwargs = mapped(sent_away, args), mapped(sent_away, kwargs)
            with Renaming():
                value = function(*args, **kwargs)
            return mapped(told, value)


def _is_upkeep(torch: Any, function: Function) -> bool:
    """Methods that every module has, such as `double` and `load_state_dict`: not the submission's work."""
    return getattr(function, "__name__", "") in vars(torch.nn.Module)
