"""Values across the border: a small header of plain JSON and the raw bytes of arrays.

Nothing is unpickled or evaluated. What is not in the lists below does not travel; a dtype that is
not allowed, or sizes that do not add up, raise `Malformed` before anything is allocated.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = {"float16", "float32", "float64", "bfloat16", "complex64", "complex128"}
DTYPES = frozenset({"bool"} | INTEGERS | FLOATS)
_DTYPES = {name: np.dtype("int16" if name == "bfloat16" else name) for name in DTYPES}
MAX_DEPTH = 24
MAX_AXES = 16
MAX_BODY = 64 * 2**20  # bytes of arrays in one frame
MAX_HEADER = 4 * 2**20


_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_from_json = json.JSONDecoder().decode


class Malformed(Exception):
    """Bytes that are no message, or a value that cannot travel."""


@dataclass(frozen=True)
class Handle:
    """An object that stays in the worker."""

    id: int
    type_name: str
    callable: bool = False


@dataclass(frozen=True)
class Callback:
    """A function of the grader's that the submission may call."""

    id: int


@dataclass(frozen=True)
class Phantom:
    """A tensor without values, on a pretended device: what is left of it at the border."""

    dtype: str
    shape: tuple[int, ...]
    device: str

    @classmethod
    def of(cls, tensor: Any) -> Phantom:
        return cls(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), str(tensor.device))


def encode(message: dict[str, Any]) -> tuple[bytes, list[bytes]]:
    """A message as header bytes and array buffers. Raises Malformed for what may not travel."""
    table: list[Any] = []
    buffers: list[bytes] = []
    tree = _encode(message, table, buffers, 0)
    if sum(map(len, buffers)) > MAX_BODY:
        raise Malformed(f"the arrays take more than {MAX_BODY >> 20} MiB")
    try:
        header = _to_json([tree, table]).encode()
    except ValueError:  # an integer of thousands of digits, a lone surrogate
        raise Malformed("a number or a string cannot travel") from None
    if len(header) > MAX_HEADER:
        raise Malformed(f"the values take more than {MAX_HEADER >> 20} MiB")
    return header, buffers


def _encode(value: Any, table: list[Any], buffers: list[bytes], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise Malformed("the value is nested too deeply")
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_encode(item, table, buffers, depth + 1) for item in value]
    if kind is tuple:
        return {"t": [_encode(item, table, buffers, depth + 1) for item in value]}
    if kind is dict:
        pairs = [[_key(key), _encode(item, table, buffers, depth + 1)] for key, item in value.items()]
        return {"d": pairs}
    return _encode_object(value, table, buffers)


def _key(key: Any) -> Any:
    if type(key) not in (str, int):
        raise Malformed("a dict has keys that are neither strings nor integers")
    return key


def _encode_object(value: Any, table: list[Any], buffers: list[bytes]) -> Any:
    if isinstance(value, np.generic):
        return {"s": _add_array(np.asarray(value), table, buffers)}
    if isinstance(value, np.ndarray):
        return {"a": _add_array(value, table, buffers)}
    if isinstance(value, Handle):
        return {"h": [value.id, value.type_name, value.callable]}
    if isinstance(value, Callback):
        return {"c": value.id}
    if isinstance(value, Phantom):
        return {"p": [value.dtype, list(value.shape), value.device]}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.is_meta:
            return _encode_object(Phantom.of(value), table, buffers)
        return {"T": _add_tensor(torch, value, table, buffers), "on": str(value.device)}
    raise Malformed(f"a value of type {type(value).__name__} cannot travel")


def _add_array(array: np.ndarray[Any, Any], table: list[Any], buffers: list[bytes], dtype: str = "") -> int:
    """Append the array's bytes in its own order of axes, so that strides survive the journey. The
    order is left out where it is the usual one."""
    name = dtype or name_of(array.dtype)
    if name not in DTYPES or not array.dtype.isnative:
        raise Malformed(f"arrays of dtype {name} cannot travel")
    if array.nbytes > MAX_BODY:
        raise Malformed(f"an array of shape {array.shape} is too large")
    if array.flags.c_contiguous:
        buffers.append(array.tobytes())
        table.append([name, array.shape, None])
    else:
        order = sorted(range(array.ndim), key=lambda axis: (-abs(array.strides[axis]), axis))
        buffers.append(array.transpose(order).tobytes())
        table.append([name, array.shape, order])
    return len(table) - 1


@functools.cache
def name_of(dtype: np.dtype[Any]) -> str:
    """`float32`, `int64` …; NumPy takes longer to find it than a small array takes to travel."""
    return dtype.name


def _add_tensor(torch: Any, tensor: Any, table: list[Any], buffers: list[bytes]) -> int:
    if tensor.nbytes > MAX_BODY:
        raise Malformed(f"a tensor of shape {tuple(tensor.shape)} is too large")
    try:
        return _add_array(tensor.numpy(), table, buffers)
    except (TypeError, RuntimeError):  # it is differentiated, or not as NumPy would hold it
        plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if plain.dtype is torch.bfloat16:
        return _add_array(plain.view(torch.int16).numpy(), table, buffers, "bfloat16")
    return _add_array(plain.numpy(), table, buffers)


def decode(header: bytes, body: bytearray, device: str | None = "cpu") -> dict[str, Any]:
    """The inverse of `encode`; arrays are fresh and writable, tensors on the device. Without a device a
    tensor is an unknown object. Raises Malformed."""
    try:
        tree, table = _from_json(header.decode())
        arrays = _read_arrays(table, body)
        message = _decode(tree, arrays, device, 0)
    except Malformed:
        raise
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError, AttributeError):
        raise Malformed("the header is no header") from None
    if type(message) is not dict:
        raise Malformed("the message is no dict")
    return message


def _read_arrays(table: Any, body: bytearray) -> list[tuple[str, np.ndarray[Any, Any]]]:
    arrays, at = [], 0
    for name, shape, order in table:
        dtype, nbytes = _checked_size(name, shape, order, len(body) - at)
        array: np.ndarray[Any, Any]
        if order is None:
            array = np.ndarray(shape, dtype, body, at)
        else:
            array = np.ndarray([shape[axis] for axis in order], dtype, body, at)
            array = array.transpose(np.argsort(order))
        arrays.append((name, array))
        at += nbytes
    if at != len(body):
        raise Malformed("the arrays do not fill the body")
    return arrays


def _checked_size(name: Any, shape: Any, order: Any, left: int) -> tuple[np.dtype[Any], int]:
    if name not in DTYPES:
        raise Malformed("a dtype is not allowed")
    lengths_are_sane = len(shape) <= MAX_AXES and all(type(n) is int and n >= 0 for n in shape)
    if not lengths_are_sane or (order is not None and sorted(order) != list(range(len(shape)))):
        raise Malformed("a shape is no shape")
    dtype = _DTYPES[name]
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > left:
        raise Malformed("an array is larger than the body")
    return dtype, nbytes


def _decode(tree: Any, arrays: list[tuple[str, np.ndarray[Any, Any]]], device: str | None, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise Malformed("the value is nested too deeply")
    if tree is None or type(tree) in (bool, int, float, str):
        return tree
    if type(tree) is list:
        return [_decode(item, arrays, device, depth + 1) for item in tree]
    if not tree:
        raise Malformed("a tag is empty")
    tag, content = next(iter(tree.items()))
    if tag == "t":
        return tuple(_decode(item, arrays, device, depth + 1) for item in content)
    if tag == "d":
        return {_key(key): _decode(item, arrays, device, depth + 1) for key, item in content}
    if tag == "a":
        return arrays[content][1]
    if tag == "s":
        return arrays[content][1][()]
    if tag == "T":
        name, array = arrays[content]
        # No PyTorch is imported because a submission wishes it.
        known = device is not None and "torch" in sys.modules
        return _to_tensor(name, array, device) if known else Handle(0, "Tensor")
    return _decode_reference(tag, content)


def in_one_line(text: str) -> str:
    """A submission's words as they may stand in a sentence: no line of their own, nothing invisible."""
    words = " ".join(text.split())
    return words if words.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)


def _decode_reference(tag: str, content: Any) -> Any:
    if tag == "h":
        number, type_name, is_callable = content
        return Handle(int(number), in_one_line(str(type_name)[:80]), bool(is_callable))
    if tag == "c":
        return Callback(int(content))
    if tag == "p":
        dtype, shape, device = content
        return Phantom(str(dtype), tuple(int(n) for n in shape), str(device))
    raise Malformed(f"the tag {tag!r} is unknown")


def _to_tensor(name: str, array: np.ndarray[Any, Any], device: str | None) -> Any:
    import torch

    tensor = torch.from_numpy(array)
    tensor = tensor.view(torch.bfloat16) if name == "bfloat16" else tensor
    return tensor.to(device) if device != "cpu" else tensor
