"""Life on another device, pretended where there is none."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from typing import Any

from grader.worker.codec import Phantom

Function = Callable[..., Any]


def prepare() -> None:
    """What pretending needs, imported while files can still be read."""
    if "torch" in sys.modules:
        importlib.import_module("grader.worker.elsewhere")


class Pretence:
    """Calls on a pretended device: inputs and modules are there, and no tensor of the CPU may meet them."""

    def call(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call with every tensor moved over; a module's parameters and buffers move along."""
        import torch

        from grader.worker.elsewhere import Elsewhere

        owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        modules = [m for m in (owner, *args, *kwargs.values()) if isinstance(m, torch.nn.Module)]
        if isinstance(function, type) or (modules and _is_upkeep(torch, function)):
            return function(*args, **kwargs)
        with Elsewhere(), contextlib.ExitStack() as stack:
            for module in modules:
                state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
                moved = _moved(torch, state)
                stack.enter_context(
                    torch.nn.utils.stateless._reparametrize_module(module, moved, tie_weights=True)
                )
            stack.enter_context(torch.no_grad())
            return _phantoms(torch, function(*_moved(torch, args), **_moved(torch, kwargs)))


def _moved(torch: Any, value: Any) -> Any:
    """The same with every tensor on the pretended device; one of which no values are known has zeros."""
    from grader.worker.elsewhere import Away

    if isinstance(value, Phantom):
        return Away(torch.zeros(value.shape, dtype=getattr(torch, value.dtype)))
    if isinstance(value, torch.Tensor) and not isinstance(value, Away):
        return Away(torch.zeros_like(value) if value.is_meta else value.detach().clone())
    if type(value) in (list, tuple):
        return type(value)(_moved(torch, item) for item in value)
    if type(value) is dict:
        return {key: _moved(torch, item) for key, item in value.items()}
    return value


def _phantoms(torch: Any, value: Any) -> Any:
    """The result with every tensor as what is to be told of it, also where it lies on the CPU."""
    if isinstance(value, torch.Tensor):
        return Phantom(str(value.dtype).removeprefix("torch."), tuple(value.shape), str(value.device))
    if type(value) in (list, tuple):
        return type(value)(_phantoms(torch, item) for item in value)
    if type(value) is dict:
        return {key: _phantoms(torch, item) for key, item in value.items()}
    return value


def _is_upkeep(torch: Any, function: Function) -> bool:
    """Methods that every module has, such as `double` and `load_state_dict`: not the submission's work."""
    return getattr(function, "__name__", "") in vars(torch.nn.Module)
