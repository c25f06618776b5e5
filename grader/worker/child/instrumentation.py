"""Measure the operations and gradients of a PyTorch submission, and list a module's parameters."""

from __future__ import annotations

import functools
import math
import re
import sys
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
#: Gets an operation and its arguments before it runs, and returns a function that gets its result.
Observer = Callable[[Any, list[Any]], Callable[[Any], None]]

LARGEST_BUFFER = 2**16  # entries of a buffer; larger ones are not sent

#: The position of a product's left factor among its arguments; the product sums over the factor's last axis.
PRODUCTS = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot", "_scaled_mm", "_cdist_forward", "_euclidean_dist"), 0),
    **dict.fromkeys(("addmm", "baddbmm", "addmv", "_addmm_activation"), 1),
}
CONVOLUTIONS = {"convolution", "_convolution", "mkldnn_convolution"}
VIEWS = {"_unsafe_view", "lift_fresh", "_reshape_alias"}  # views that PyTorch does not mark as such
#: Operations on several tensors whose work is linear, apart from those that PyTorch marks as pointwise.
LINEAR = re.compile(
    "add_relu|fused_rms_norm|bernoulli|complex|copy|copysign|dist|embedding|fill|gather|(unsafe_)?index"
    "|index_(add|copy|fill|put|reduce|select)|masked_(fill|scatter|select)|normal|polar|take|to_copy"
    "|(as_strided|diagonal|select|slice)_scatter|scatter(_add|_reduce)?"
    "|(native_(batch|group|layer)|batch)_norm.*|.*_loss(_forward)?|binary_cross_entropy.*"
)
#: Operations on one tensor whose work is more than linear.
BEYOND_LINEAR = re.compile("linalg|cholesky|lu_|fft_|pdist|logdet|matrix_")


def with_flops(function: Function, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, int]:
    """Return the result and the number of floating-point operations that PyTorch performs for it.

    A matrix product counts 2 for each multiplication, and so does an attention, fused or not. An operation
    that works element by element, reduces, normalises, sorts or copies counts 1 for each element of the
    largest tensor that it reads or writes. Any other operation on several tensors, and all of linear
    algebra, counts the elements of its result times the largest axis of its inputs. Views, newly made
    tensors and operations without a floating-point tensor, such as making a mask, count nothing. Work in
    NumPy or plain Python is not counted.
    """
    work: list[int] = []
    with observed_operations(lambda func, given: lambda result: work.append(_work(func, given, result))):
        value = function(*args, **kwargs)
    return value, sum(work)


def observed_operations(observe: Observer) -> Any:
    """Return a context in which `observe` sees each of PyTorch's basic operations. It does not see work in
    NumPy, in plain Python and in other threads."""
    return _observing_mode()(observe)


@functools.cache
def _observing_mode() -> Any:
    import torch
    from torch.utils import _python_dispatch

    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    mode: Any = _python_dispatch.TorchDispatchMode
    plain = torch.Tensor.__torch_dispatch__

    class Observing(mode):  # type: ignore[misc]  # PyTorch's modes are untyped
        def __init__(self, observe: Observer) -> None:
            super().__init__()
            self.observe = observe

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # skipping PyTorch's compiler would import it, which takes seconds

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if any(kind.__torch_dispatch__ is not plain for kind in types):
                return NotImplemented  # what a class does in operations of its own comes here too
            kwargs = kwargs or {}
            if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), composite):
                with self:  # in `inference_mode` composite operations arrive here undivided
                    return func._op_dk(composite, *args, **kwargs)
            with torch._C.DisableTorchFunction():
                note = self.observe(func, without_subclasses([*args, *kwargs.values()]))
            result = func(*args, **kwargs)
            with torch._C.DisableTorchFunction():
                note(without_subclasses(result))
            return result

    return Observing


def without_subclasses(value: Any) -> Any:
    """Return a value with plain tensors in place of those of a subclass, which could lie about its shape."""
    import torch

    kind = type(value)
    if kind in (list, tuple):
        return [without_subclasses(item) for item in value]
    if kind is torch.Tensor or not issubclass(kind, torch.Tensor):
        return value
    return torch.Tensor.as_subclass(value, torch.Tensor)


def _work(func: Any, args: list[Any], result: Any) -> int:
    """Return the number of floating-point operations of one of PyTorch's basic operations."""
    read, written = _floating(args), _floating([result])
    name = func.overloadpacket.__name__.rstrip("_")
    if not read or is_view(func):
        return 0
    elements = _elements(written)
    if name in PRODUCTS:
        return 2 * elements * _summed(args[PRODUCTS[name]])
    if name == "_trilinear":
        return 2 * int(math.prod(args[0].shape[:-1])) * _elements([args[1]])
    if name in CONVOLUTIONS:
        return 2 * elements * int(math.prod(args[1].shape[1:]))
    if name.startswith("_scaled_dot_product") and "backward" not in name:
        return _attention_work(*args[:3])
    sizes = [_elements(found) for found in map(_floating, ([arg] for arg in args)) if found]
    if _is_linear(func, name, len(sizes)):
        return max(elements, *sizes, 1)
    return max(elements, 1) * max([1, *(int(size) for tensor in read for size in tensor.shape)])


def is_view(func: Any) -> bool:
    """True if the result of a basic operation is a view of its argument."""
    return bool(func.is_view) or func.overloadpacket.__name__.rstrip("_") in VIEWS


def _elements(tensors: list[Any]) -> int:
    return sum(int(tensor.numel()) for tensor in tensors)


def _summed(factor: Any) -> int:
    return int(factor.shape[-1]) if factor.dim() else 1


def _attention_work(query: Any, key: Any, value: Any) -> int:
    """Return the operations of an attention: the scores, masked ones too, and the weighted sum of the values.
    The arguments have the shape [..., tokens, d_head]."""
    queries = math.prod(query.shape[:-1])
    return int(2 * queries * key.shape[-2] * (query.shape[-1] + value.shape[-1]))


def _is_linear(func: Any, name: str, sources: int) -> bool:
    """True if the work for each element is constant; `sources` is the number of floating arguments."""
    import torch

    if torch.Tag.pointwise in func.tags or LINEAR.fullmatch(name.lstrip("_")):
        return True
    return sources == 1 and not BEYOND_LINEAR.search(name)


def _floating(values: Any) -> list[Any]:
    """Return the floating-point tensors among values and nested lists."""
    found = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _floating(value)
        elif hasattr(value, "numel") and (value.is_floating_point() or value.is_complex()):
            found.append(value)
    return found


def with_gradients(
    function: Function, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any] | None]:
    """Return the result of a call, and the gradients of a fixed random projection of it, by name.

    They are with respect to every floating argument (`args[0]`, … if it has no name) and every parameter of a
    module; a shared parameter has all of its names. None if there is nothing to differentiate."""
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


def put_into_evaluation(function: Any) -> None:
    """Put a module into evaluation mode; leave anything else as it is."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        function.eval()


def with_grad_mode(
    function: Function, args: list[Any], kwargs: dict[str, Any], given: list[Any], *, is_on: bool
) -> tuple[Any, str]:
    """Return the result of a call whose caller has switched gradients on or off, and the mode that the call
    leaves changed: "gradients", PyTorch's default "dtype", "training" of a module in `given`, or ""."""
    import torch

    modules = [part for value in given if isinstance(value, torch.nn.Module) for part in value.modules()]
    before = [part.training for part in modules]
    torch.set_default_dtype(torch.float32)  # an earlier call may have changed it
    with torch.set_grad_enabled(is_on):
        value = function(*args, **kwargs)
        kept = torch.is_grad_enabled() == is_on
    if not kept:
        return value, "gradients"
    if torch.get_default_dtype() != torch.float32:
        return value, "dtype"
    return value, "" if [part.training for part in modules] == before else "training"


def _derived(torch: Any, outputs: list[Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return gradients by name, with zeros for frozen parameters and for inputs without a gradient."""
    live = {name: tensor for name, tensor in inputs.items() if tensor.requires_grad}
    found: dict[str, Any] = {}
    if outputs and live:
        # `grad` would import sympy for the argument `grad_outputs`, which takes longer than all calls
        projections = [(out * _cotangent(torch, out)).sum() for out in outputs]
        derived = torch.autograd.grad(projections, list(live.values()), allow_unused=True)
        found = dict(zip(live, derived, strict=True))
    return {
        name: torch.zeros_like(tensor) if found.get(name) is None else found[name].to_dense()
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
    """Draw normal numbers that depend only on the shape; they are 0 where the output is not finite."""
    generator = torch.Generator().manual_seed(17)
    drawn = torch.randn(output.shape, generator=generator, dtype=torch.float64)
    drawn = drawn.to(output.device, output.dtype)
    return torch.where(torch.isfinite(output.detach()), drawn, torch.zeros_like(drawn))


def anatomy(module: Any) -> dict[str, Any]:
    """Return a module's parameters and buffers by name, the names that share one Parameter, and its mode.
    Large buffers, such as the mask of all positions, are left out."""
    named = dict(module.named_parameters(remove_duplicate=False))
    sharing: dict[int, list[str]] = {}
    for name, parameter in named.items():
        sharing.setdefault(id(parameter), []).append(name)
    return {
        "parameters": named,
        "buffers": {name: b for name, b in module.named_buffers() if b.numel() <= LARGEST_BUFFER},
        "shared": [names for names in sharing.values() if len(names) > 1],
        "training": bool(module.training),
    }
