"""Emulate a GPU on the CPU, so that code that mixes devices fails on machines without a GPU as well.

A fake tensor reports `cuda:0` as its device and has its values in a CPU tensor. Operations on fake tensors
and other CPU tensors raise DeviceMismatch. This module may import PyTorch at its top, because it is itself
imported only after PyTorch.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.worker.protocol.codec import TensorOutline

_Tensor: Any = torch.Tensor  # typed as Any, because PyTorch's annotations do not allow subclasses
_Mode: Any = TorchDispatchMode
_FunctionMode: Any = TorchFunctionMode
DEVICE = torch.device("lazy:0")  # the device that PyTorch's kernels see; without CUDA they reject "cuda"
SHOWN = torch.device("cuda:0")  # the device that a submission sees
COPIED = "_copied_in_line"  # an attribute of tensors on the CPU
PYTORCH = torch.__path__[0]
CUDA = re.compile(r"cuda(:\d+)?")
_Generator = torch.Generator
FEW = 4  # entries of a tensor that may go by way of the CPU: a limit or a count to look at
#: The lines of the submission from which a tensor of floats went by way of the CPU, in the call that runs.
detours: list[int] = []
INDEXING = {
    torch.ops.aten.index.Tensor,
    torch.ops.aten.index_put.default,
    torch.ops.aten.index_put_.default,
}


class DeviceMismatch(RuntimeError):
    """An operation has arguments on the fake device and on the CPU."""


class FakeDeviceTensor(_Tensor):  # type: ignore[misc]  # see _Tensor
    """A tensor on the fake device, whose values are in `cpu_tensor`."""

    cpu_tensor: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, cpu_tensor: torch.Tensor) -> FakeDeviceTensor:
        with torch.inference_mode(False):  # fake tensors are normal tensors even in inference mode
            fake: FakeDeviceTensor = torch.Tensor._make_wrapper_subclass(
                cls,
                cpu_tensor.shape,
                strides=cpu_tensor.stride(),
                storage_offset=cpu_tensor.storage_offset(),
                dtype=cpu_tensor.dtype,
                device=DEVICE,
            )
        fake.cpu_tensor = cpu_tensor
        return fake

    def tolist(self) -> Any:
        return self.cpu_tensor.tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError(
            f"can't convert {SHOWN} device type tensor to numpy."
            " Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __repr__(self, **_: Any) -> str:
        return f"{repr(self.cpu_tensor)[:-1]}, device='{SHOWN}')"

    def __format__(self, wanted: str) -> str:
        return format(self.cpu_tensor, wanted)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operate(func, args, kwargs or {})


class _GeneratorType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _Generator)


class Generator(metaclass=_GeneratorType):
    """Creates a CPU generator for any device, since without CUDA there are no others."""

    def __new__(cls, device: Any = None) -> Any:  # noqa: ARG004 - the signature is PyTorch's
        return _Generator()


class CudaNamesMode(_FunctionMode):  # type: ignore[misc]  # see _Tensor
    """In this mode the fake device is called `cuda` in the submission's code; PyTorch gets its real name."""

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
        is_fake = bool(args) and isinstance(args[0], FakeDeviceTensor)
        if func == _Tensor.device.__get__ and is_fake:
            return SHOWN
        if func == _Tensor.is_cuda.__get__:
            return is_fake
        if func is _Tensor.cuda:
            return args[0].to(DEVICE)
        if func is _Tensor.type and is_fake and len(args) == 1 and not kwargs:
            return args[0].cpu_tensor.type().replace("torch.", "torch.cuda.")
        return func(*args, **kwargs)


def _renamed(value: Any) -> Any:
    """Replace a CUDA device, or its name, by the fake device."""
    if isinstance(value, torch.device):
        return DEVICE if value.type == SHOWN.type else value
    return DEVICE if isinstance(value, str) and CUDA.fullmatch(value) else value


class FakeDeviceMode(_Mode):  # type: ignore[misc]  # see _Tensor
    """In this mode, tensors that are created on the fake device are FakeDeviceTensors."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True would import PyTorch's compiler, which takes 2 s

    def __enter__(self) -> Any:
        self._before = torch._C._only_lift_cpu_tensors()
        torch._C._set_only_lift_cpu_tensors(True)  # or `torch.tensor(1.0, device=...)` would bypass this mode
        return super().__enter__()

    def __exit__(self, *failed: Any) -> None:
        torch._C._set_only_lift_cpu_tensors(self._before)
        super().__exit__(*failed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operate(func, args, kwargs or {})


def operate(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run one operation on the CPU. The result is on the fake device if an argument is, or if the argument
    `device` says so. Raises DeviceMismatch."""
    tensors = list(_tensors((*args, *kwargs.values())))
    fakes = [tensor for tensor in tensors if isinstance(tensor, FakeDeviceTensor)]
    goal = kwargs.get("device")
    to_cpu = not fakes if goal is None else torch.device(goal).type != DEVICE.type
    if not fakes and to_cpu:
        return _from_copy(func(*args, **kwargs), _line_of_copy(tensors))
    if goal is None and len(fakes) < len(tensors):
        _require_one_device(func, args, tensors)
    kwargs = kwargs if to_cpu or goal is None else {**kwargs, "device": "cpu"}
    if tensors and not to_cpu:
        _note_detour(tensors)
    result = func(*mapped(_on_cpu, args), **mapped(_on_cpu, kwargs))
    if goal is not None and to_cpu and _is_large(tensors[0], FEW) and tensors[0].is_floating_point():
        _from_copy(result, _line())
    if torch.Tag.inplace_view in func.tags:
        _update_shape(args[0])
    arguments = {id(_on_cpu(tensor)): tensor for tensor in tensors}
    return _wrap_result(result, arguments, to_cpu=to_cpu)


class DetourMode(_Mode):  # type: ignore[misc]  # see _Tensor
    """In this mode a tensor that goes from a real device by way of the CPU is noted, as on the fake one."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors, made = list(_tensors((*args, *(kwargs or {}).values()))), list(_tensors([result]))
        if any(not tensor.is_cpu for tensor in made):
            _note_detour(tensors)
            return result
        left = any(not t.is_cpu and _is_large(t, FEW) and t.is_floating_point() for t in tensors)
        return _from_copy(result, _line() if left else _line_of_copy(tensors))


def _note_detour(tensors: list[torch.Tensor]) -> None:
    """Note it if a tensor on the CPU, computed from a copy of one on the fake device, is brought back."""
    line = _line_of_copy([t for t in tensors if _is_large(t, 1) and (t.is_floating_point() or _is_mask(t))])
    if line:
        detours.append(line)


def _is_large(tensor: torch.Tensor, few: int) -> bool:
    return tensor.numel() > few


def _is_mask(tensor: torch.Tensor) -> bool:
    return tensor.dtype is torch.bool


def _line_of_copy(tensors: Iterable[torch.Tensor]) -> int:
    """Return the line in which one of the tensors, or what it was computed from, was copied to the CPU; 0 if
    none was."""
    return next((line for tensor in tensors if (line := getattr(tensor, COPIED, 0))), 0)


def _from_copy(result: Any, line: int) -> Any:
    """Note on the tensors of a result that they come from a copy that was made in this line, if any was."""
    for tensor in _tensors([result]) if line else ():
        setattr(tensor, COPIED, line)
    return result


def _line() -> int:
    """Return the line that runs outside of this file and of PyTorch."""
    frame = sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith((__file__, PYTORCH)):
        frame = frame.f_back
    return frame.f_lineno


def _update_shape(fake: FakeDeviceTensor) -> None:
    """Copy the shape of the CPU tensor to the fake one, after an in-place operation changed it. PyTorch's
    kernel for `meta` can do that for tensors on any device."""
    keys, cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta), fake.cpu_tensor
    reshape = torch.ops.aten.as_strided_.default
    reshape.redispatch(keys, fake, cpu.shape, cpu.stride(), cpu.storage_offset())


def _require_one_device(func: Any, args: tuple[Any, ...], tensors: list[torch.Tensor]) -> None:
    """Raise DeviceMismatch if the operation would fail on a GPU. Allowed are copies between devices, indices
    on the CPU, and a tensor without axes on the CPU unless the operation modifies it."""
    if func is torch.ops.aten.copy_.default:
        return
    ids = {id(tensor) for tensor in _tensors(args[1])} if func in INDEXING else set()
    on_cpu = [
        t for t in tensors if not isinstance(t, FakeDeviceTensor) and (id(t) not in ids or t is args[0])
    ]
    if any(t.dim() or (t is args[0] and func._schema.is_mutable) for t in on_cpu):
        raise DeviceMismatch(f"{func} is given tensors of two devices")


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Apply `change` to every value in nested lists, tuples and dicts; their subclasses become plain ones."""
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(mapped(change, item) for item in value)
    if isinstance(value, dict):
        return {key: mapped(change, item) for key, item in value.items()}
    return change(value)


def to_fake_device(value: Any) -> Any:
    """Copy a tensor to the fake device. A tensor without values, on `meta`, becomes zeros."""
    if isinstance(value, TensorOutline):
        return FakeDeviceTensor(torch.zeros(value.shape, dtype=getattr(torch, value.dtype)))
    if isinstance(value, torch.Tensor) and not isinstance(value, FakeDeviceTensor):
        known = torch.zeros_like(value, device="cpu") if value.is_meta else value.detach()
        return FakeDeviceTensor(known.to("cpu", copy=True))
    return value


def from_fake_device(value: Any) -> Any:
    """Return the values of a fake tensor. Another tensor becomes a TensorOutline, which has its device."""
    if isinstance(value, FakeDeviceTensor):
        return value.cpu_tensor
    return TensorOutline.of(value) if isinstance(value, torch.Tensor) else value


def outlined_on_cpu(value: Any) -> Any:
    """Return a TensorOutline, which has its device, in place of a tensor on the CPU."""
    return TensorOutline.of(value) if isinstance(value, torch.Tensor) and value.is_cpu else value


def _on_cpu(value: Any) -> Any:
    return value.cpu_tensor if isinstance(value, FakeDeviceTensor) else value


def _wrap_result(value: Any, arguments: dict[int, torch.Tensor], *, to_cpu: bool) -> Any:
    """Put the tensors of a result on the fake device, unless `to_cpu`. A tensor that was changed in place is
    replaced by its argument; `arguments` has them by the id of their CPU tensor."""
    if isinstance(value, torch.Tensor):
        if id(value) in arguments:
            return arguments[id(value)]
        return value if to_cpu else FakeDeviceTensor(value)
    if isinstance(value, list | tuple):
        return type(value)(_wrap_result(item, arguments, to_cpu=to_cpu) for item in value)
    return value
