"""What is measured while a PyTorch submission runs: FLOPs, gradients, and life on another device."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import math
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

Function = Callable[..., Any]


def with_flops(function: Function, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, int]:
    """The result and the work it took: PyTorch's count for matrix products, one for each product of
    elementwise multiplication (so that attention written without `@` is counted too)."""
    import torch
    from torch.utils import flop_counter

    _spare_dynamo(flop_counter._FlopCounterMode)

    def elements(*_shapes: Any, out_shape: Any = None, **_: Any) -> int:
        return math.prod(out_shape) if out_shape is not None else 0

    counter = flop_counter.FlopCounterMode(display=False, custom_mapping={torch.ops.aten.mul: elements})
    with counter:
        value = function(*args, **kwargs)
    return value, int(counter.get_total_flops())


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
        cotangents = [_cotangent(torch, out) for out in outputs]
        derived = torch.autograd.grad(outputs, list(live.values()), cotangents, allow_unused=True)
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


def _spare_dynamo(mode: Any) -> None:
    """A dispatch mode's first call imports PyTorch's compiler, 2 s long, to keep it from compiling the
    mode. Nothing is compiled here, so the method is marked as spared already."""
    method = getattr(mode.__torch_dispatch__, "__wrapped__", None)
    if method is not None and not hasattr(method, "__dynamo_disable"):
        setattr(method, "__dynamo_disable", method)  # the name would be mangled in a class


@functools.cache
def _settings_of_dynamo() -> types.ModuleType:
    """The package of PyTorch's compiler, found and not executed: its settings can be imported alone, and
    there is nothing to disable."""
    spec = importlib.util.find_spec("torch._dynamo")
    assert spec is not None
    package = importlib.util.module_from_spec(spec)
    package.__dict__["disable"] = lambda function, *_args, **_options: function
    return package


@contextlib.contextmanager
def _only_the_settings_of_dynamo() -> Iterator[None]:
    """Inside, `import torch._dynamo.config` loads that module alone and not the compiler around it."""
    import torch

    if "torch._dynamo" in sys.modules:
        yield
        return
    sys.modules["torch._dynamo"] = vars(torch)["_dynamo"] = _settings_of_dynamo()
    try:
        yield
    finally:
        del sys.modules["torch._dynamo"]
        vars(torch).pop("_dynamo", None)


def _is_upkeep(torch: Any, function: Function) -> bool:
    """Methods that every module has, such as `double` and `load_state_dict`: not the submission's work."""
    return getattr(function, "__name__", "") in vars(torch.nn.Module)


def _start_autograd() -> None:
    """The engine counts devices when it is first used, and starts a thread for each. Pretending wakes those
    of a CUDA build, and a worker may start no threads; so it is used once before."""
    import torch

    torch.zeros(1, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]  # as PyTorch has it


def warm_up() -> None:
    """Import what the first call on a pretended device imports, 0.6 s long."""
    import torch

    Pretence().call(lambda x: torch.softmax(x @ x, -1).masked_fill(x > 0, 0.0), [torch.zeros(2, 2)], {})


class Pretence:
    """Calls on a pretended device, which stays the same from call to call.

    Inside PyTorch's FakeTensorMode tensors have shape, dtype and device and no values. `lazy` is
    pretended: on a CPU build indexing a pretended `cuda` tensor raises, and `meta` overlooks an
    embedding whose ids stayed behind. Its number is said, since `torch.tensor(1.0, device=x.device)`
    is put on `lazy:0` either way and would not meet `lazy`.
    """

    DEVICE = "lazy:0"

    def __init__(self) -> None:
        self._mode: Any = None

    def call(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call with every tensor moved over; a module's parameters and buffers move along."""
        import torch

        owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        modules = [m for m in (owner, *args, *kwargs.values()) if isinstance(m, torch.nn.Module)]
        if isinstance(function, type) or (modules and _is_upkeep(torch, function)):
            return function(*args, **kwargs)
        with _only_the_settings_of_dynamo(), self._fake_mode(), contextlib.ExitStack() as stack:
            for module in modules:
                state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
                moved = self._move(torch, state)
                stack.enter_context(
                    torch.nn.utils.stateless._reparametrize_module(module, moved, tie_weights=True)
                )
            stack.enter_context(torch.no_grad())
            return function(*self._move(torch, args), **self._move(torch, kwargs))

    def _fake_mode(self) -> Any:
        if self._mode is None:
            from torch._subclasses.fake_tensor import FakeTensorMode

            _spare_dynamo(FakeTensorMode)
            _start_autograd()
            logging.getLogger("torch._subclasses.fake_tensor").setLevel(
                logging.CRITICAL
            )  # errors are raised too
            self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        return self._mode

    def _move(self, torch: Any, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and type(value).__name__ != "FakeTensor":
            return torch.empty_strided(
                tuple(value.shape), value.stride(), dtype=value.dtype, device=self.DEVICE
            )
        if type(value) in (list, tuple):
            return type(value)(self._move(torch, item) for item in value)
        if type(value) is dict:
            return {key: self._move(torch, item) for key, item in value.items()}
        return value
