"""A device that is not there: its tensors have their values on the CPU, and must not meet tensors of the CPU.

Imported where PyTorch is imported already, and so alone in importing it at its top.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.worker.protocol.codec import TensorOutline

_Tensor: Any = torch.Tensor  # what their types forbid to subclasses is what they are there for
_Mode: Any = TorchDispatchMode
_FunctionMode: Any = TorchFunctionMode
DEVICE = torch.device("lazy:0")  # what PyTorch's kernels see: without CUDA they accept no tensor of a GPU
SHOWN = torch.device("cuda:0")  # what a submission sees
CUDA = re.compile(r"cuda(:\d+)?")
_Generator = torch.Generator
INDEXING = {
    torch.ops.aten.index.Tensor,
    torch.ops.aten.index_put.default,
    torch.ops.aten.index_put_.default,
}


class DeviceMismatch(RuntimeError):
    """An operation is given tensors of this device and of the CPU."""


class FakeDeviceTensor(_Tensor):  # type: ignore[misc]  # see there
    """A tensor on the device; `held` is the tensor on the CPU that has its values."""

    held: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, held: torch.Tensor) -> FakeDeviceTensor:
        with torch.inference_mode(False):  # where a view of a tensor from outside is as that tensor is
            away: FakeDeviceTensor = torch.Tensor._make_wrapper_subclass(
                cls,
                held.shape,
                strides=held.stride(),
                storage_offset=held.storage_offset(),
                dtype=held.dtype,
                device=DEVICE,
            )
        away.held = held
        return away

    def tolist(self) -> Any:
        return self.held.tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError(
            f"can't convert {SHOWN} device type tensor to numpy."
            " Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __repr__(self, **_: Any) -> str:
        return f"{repr(self.held)[:-1]}, device='{SHOWN}')"

    def __format__(self, wanted: str) -> str:
        return format(self.held, wanted)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operate(func, args, kwargs or {})


class _GeneratorType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _Generator)


class Generator(metaclass=_GeneratorType):
    """A generator of the CPU, whichever device is asked for: without CUDA there is no other."""

    def __new__(cls, device: Any = None) -> Any:  # noqa: ARG004 - as PyTorch's
        return _Generator()


class Renaming(_FunctionMode):  # type: ignore[misc]  # see there
    """Inside, a submission sees and names a GPU, as PyTorch's functions are called with the other device."""

    def __enter__(self) -> Any:
        torch.Generator = Generator  # type: ignore[misc]
        return super().__enter__()

    def __exit__(self, *failed: Any) -> None:
        torch.Generator = _Generator  # type: ignore[misc]
        super().__exit__(*failed)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        args, kwargs = tuple(map(_renamed, args)), {k: _renamed(v) for k, v in (kwargs or {}).items()}
        away = bool(args) and isinstance(args[0], FakeDeviceTensor)
        if func == _Tensor.device.__get__ and away:
            return SHOWN
        if func == _Tensor.is_cuda.__get__:
            return away
        if func is _Tensor.cuda:
            return args[0].to(DEVICE)
        if func is _Tensor.type and away and len(args) == 1 and not kwargs:
            return args[0].held.type().replace("torch.", "torch.cuda.")
        return func(*args, **kwargs)


def _renamed(value: Any) -> Any:
    """The device that kernels see, where a GPU is named."""
    if isinstance(value, torch.device):
        return DEVICE if value.type == SHOWN.type else value
    return DEVICE if isinstance(value, str) and CUDA.fullmatch(value) else value


class FakeDeviceMode(_Mode):  # type: ignore[misc]  # see there
    """Inside, what is made on the device is on the device."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # to be skipped by PyTorch's compiler it would import it, 2 s long

    def __enter__(self) -> Any:
        self._before = torch._C._only_lift_cpu_tensors()
        torch._C._set_only_lift_cpu_tensors(True)  # or `torch.tensor(1.0, device=...)` passes this mode by
        return super().__enter__()

    def __exit__(self, *failed: Any) -> None:
        torch._C._set_only_lift_cpu_tensors(self._before)
        super().__exit__(*failed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operate(func, args, kwargs or {})


def operate(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One operation, done on the CPU; the result is on the device if an argument is, or if it is to be made
    there. Raises DeviceMismatch."""
    tensors = list(_tensors((*args, *kwargs.values())))
    away = [tensor for tensor in tensors if isinstance(tensor, FakeDeviceTensor)]
    goal = kwargs.get("device")
    stays = not away if goal is None else torch.device(goal).type != DEVICE.type
    if not away and stays:
        return func(*args, **kwargs)
    if goal is None and len(away) < len(tensors):
        _require_one_device(func, args, tensors)
    kwargs = kwargs if stays or goal is None else {**kwargs, "device": "cpu"}
    result = func(*mapped(_held, args), **mapped(_held, kwargs))
    if torch.Tag.inplace_view in func.tags:
        _take_shape(args[0])
    known = {id(_held(tensor)): tensor for tensor in tensors}
    return _sent(result, known, stays)


def _take_shape(away: FakeDeviceTensor) -> None:
    """Have the shape of what is held, after an operation that changed it in place. PyTorch's kernel for
    `meta` does it to tensors of any device."""
    keys, held = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta), away.held
    reshape = torch.ops.aten.as_strided_.default
    reshape.redispatch(keys, away, held.shape, held.stride(), held.storage_offset())


def _require_one_device(func: Any, args: tuple[Any, ...], tensors: list[torch.Tensor]) -> None:
    """As on a GPU: tensors can be copied from one device to the other, ids may be on the CPU, and so may a
    number, which is a tensor without axes, unless it is to be changed. Raises DeviceMismatch."""
    if func is torch.ops.aten.copy_.default:
        return
    ids = {id(tensor) for tensor in _tensors(args[1])} if func in INDEXING else set()
    stayed = [
        t for t in tensors if not isinstance(t, FakeDeviceTensor) and (id(t) not in ids or t is args[0])
    ]
    if any(t.dim() or (t is args[0] and func._schema.is_mutable) for t in stayed):
        raise DeviceMismatch(f"{func} is given tensors of two devices")


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Apply `change` to every value inside lists, tuples and dicts; subclasses of these become plain ones."""
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(mapped(change, item) for item in value)
    if isinstance(value, dict):
        return {key: mapped(change, item) for key, item in value.items()}
    return change(value)


def sent_away(value: Any) -> Any:
    """A tensor as one on the device; where no values are known it has zeros."""
    if isinstance(value, TensorOutline):
        return FakeDeviceTensor(torch.zeros(value.shape, dtype=getattr(torch, value.dtype)))
    if isinstance(value, torch.Tensor) and not isinstance(value, FakeDeviceTensor):
        known = torch.zeros_like(value, device="cpu") if value.is_meta else value.detach()
        return FakeDeviceTensor(known.to("cpu", copy=True))
    return value


def told(value: Any) -> Any:
    """A tensor of the device as its values; one left on the CPU as a TensorOutline, which names the CPU."""
    if isinstance(value, FakeDeviceTensor):
        return value.held
    return TensorOutline.of(value) if isinstance(value, torch.Tensor) else value


def _held(value: Any) -> Any:
    """A tensor as that on the CPU which holds its values."""
    return value.held if isinstance(value, FakeDeviceTensor) else value


def _sent(value: Any, known: dict[int, torch.Tensor], stays: bool) -> Any:
    """A result: what was changed in place is the argument that it was, everything new is on the device."""
    if isinstance(value, torch.Tensor):
        return known[id(value)] if id(value) in known else value if stays else FakeDeviceTensor(value)
    if isinstance(value, list | tuple):
        return type(value)(_sent(item, known, stays) for item in value)
    return value
