"""What is measured while a PyTorch submission runs: its work and its gradients; of what a module consists."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def prepare_to_count() -> None:
    """What counting needs, imported."""
    importlib.import_module("torch.utils.flop_counter")


def with_flops(function: Function, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, int]:
    """The result and the work it took: PyTorch's count for matrix products, one for each product of
    elementwise multiplication (so that attention written without `@` is counted too)."""
    import torch
    from torch.utils import flop_counter

    _spare_the_compiler(flop_counter._FlopCounterMode)

    def elements(*_shapes: Any, out_shape: Any = None, **_: Any) -> int:
        return math.prod(out_shape) if out_shape is not None else 0

    counter = flop_counter.FlopCounterMode(display=False, custom_mapping={torch.ops.aten.mul: elements})
    with counter:
        value = function(*args, **kwargs)
    return value, int(counter.get_total_flops())


def _spare_the_compiler(mode: Any) -> None:
    """A dispatch mode's first call imports PyTorch's compiler, 2 s long, to keep it from compiling the
    mode. Nothing is compiled here, so the method is marked as spared already."""
    method = getattr(mode.__torch_dispatch__, "__wrapped__", None)
    if method is not None and not hasattr(method, "__dynamo_disable"):
        setattr(method, "__dynamo_disable", method)  # the name would be mangled in a class


def with_gradients(
    function: Function, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any] | None]:
    """The result, and the gradient of a fixed random projection of it with respect to every floating
    argument (`args[0]`, … where it has no name) and every parameter of a module; a parameter that two
    layers share stands under both names. None where there is nothing to derive."""
    import torch

    inputs: dict[str, Any] = {}
    args = [_track(torch, f"args[{i}]", arg, inputs) for i, arg in enumerate(args)]
    kwargs = {name: _track(torch, name, arg, inputs) for name, arg in kwargs.items()}
    if isinstance(function, type):
        return function(*args, **kwargs), None
    if isinstance(function, torch.nn.Module):
        inputs.update(function.named_parameters(remove_duplicate=False))
    value = function(*args, **kwargs)
    outputs = [out for out in _tensors(torch, value) if out.is_floating_point()]
    if not inputs or not outputs:
        return value, None
    return value, _derived(torch, [out for out in outputs if out.requires_grad], inputs)


def _derived(torch: Any, outputs: list[Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Gradients by name: zeros where none arrives, and for a parameter that is frozen."""
    live = {name: tensor for name, tensor in inputs.items() if tensor.requires_grad}
    found: dict[str, Any] = {}
    if outputs and live:
        # given cotangents beside the outputs, `grad` would import sympy, which takes longer than all calls
        projections = [(out * _cotangent(torch, out)).sum() for out in outputs]
        derived = torch.autograd.grad(projections, list(live.values()), allow_unused=True)
        found = dict(zip(live, derived, strict=True))
    return {
        name: torch.zeros_like(tensor) if found.get(name) is None else found[name]
        for name, tensor in inputs.items()
    }


def _track(torch: Any, name: str, value: Any, inputs: dict[str, Any]) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        inputs[name] = value.detach().requires_grad_()
        return inputs[name]
    return value


def _tensors(torch: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(torch, item)]
    return []


def _cotangent(torch: Any, output: Any) -> Any:
    """Normal numbers that depend on the shape alone; 0 where the output is infinite."""
    generator = torch.Generator().manual_seed(17)
    drawn = torch.randn(output.shape, generator=generator, dtype=torch.float64)
    drawn = drawn.to(output.device, output.dtype)
    return torch.where(torch.isfinite(output.detach()), drawn, torch.zeros_like(drawn))


def anatomy(module: Any) -> dict[str, Any]:
    """A module's parameters and buffers by name, the names that share one Parameter, and its mode."""
    named = dict(module.named_parameters(remove_duplicate=False))
    sharing: dict[int, list[str]] = {}
    for name, parameter in named.items():
        sharing.setdefault(id(parameter), []).append(name)
    return {
        "parameters": named,
        "buffers": dict(module.named_buffers()),
        "shared": [names for names in sharing.values() if len(names) > 1],
        "training": bool(module.training),
    }


def moved(value: Any, device: str) -> Any:
    """A new module goes where its inputs will be, as its owner would send it."""
    torch = sys.modules.get("torch")
    if device != "cpu" and torch is not None and isinstance(value, torch.nn.Module):
        return value.to(device)
    return value
