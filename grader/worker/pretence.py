"""Run calls on a pretended GPU."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def prepare() -> None:
    """Import what pretending needs while files can still be read."""
    if "torch" in sys.modules:
        importlib.import_module("grader.worker.elsewhere")


class Pretence:
    """Calls on a pretended device: inputs and modules are there, and no tensor of the CPU may meet them."""

    def call(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call with every tensor moved over; a module's parameters and buffers move along."""
        import torch

        from grader.worker.elsewhere import Elsewhere, Renaming, mapped, sent_away, told

        owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        modules = [m for m in (owner, *args, *kwargs.values()) if isinstance(m, torch.nn.Module)]
        if isinstance(function, type) or (modules and _is_upkeep(torch, function)):
            return function(*args, **kwargs)
        with Elsewhere(), contextlib.ExitStack() as stack:
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
