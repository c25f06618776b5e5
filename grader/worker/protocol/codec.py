"""Encode values as a small JSON header and the raw bytes of arrays, and decode them.

Nothing is unpickled or evaluated. Unknown types, forbidden dtypes, inconsistent sizes and messages beyond the
limits raise `Malformed` before memory is allocated for them. Both directions have the same limits, so that
a worker can report what is wrong with a result before it is sent.
"""

from __future__ import annotations

import functools
import json
import math
import re
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grader.worker.protocol.channel import MAX_BODY as MAX_BODY  # other modules import these from here
from grader.worker.protocol.channel import MAX_HEADER as MAX_HEADER
from grader.worker.protocol.channel import Malformed as Malformed
from grader.worker.protocol.outlines import ArrayOutline

INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = {"float16", "float32", "float64", "bfloat16", "complex64", "complex128"}
Array = np.ndarray[Any, Any]
DTYPES = frozenset({"bool"} | INTEGERS | FLOATS)
_DTYPES = {name: np.dtype("int16" if name == "bfloat16" else name) for name in DTYPES}
MAX_DEPTH = 24  # levels of nested lists, tuples and dicts
MAX_AXES = 16  # of one array
MOST_GAPS = 32  # entries of memory that are sent for each entry of an array with gaps
MAX_MARKS = 8  # brackets and commas in the header, per value that the limits allow
MAX_KEYS = 1_000  # of one dict; if all hashes collide, a lookup takes as many steps
MAX_KEY_LENGTH = 200  # characters, because keys appear in error messages
MAX_KEY = 2**53  # limit of integer keys: from 2**61 on, integers with equal hashes are easy to find
MAX_DIGITS = 300  # of an integer, nearly as many as the largest float has
MAX_TEXT = 2**20  # characters of one string; the longest is the source of a submission
MAX_ARGUMENTS = 2**14  # values and array entries in the arguments of one call back to the grader
MAX_ID = 2**63  # of objects and functions
MAX_NAME = 80  # characters of a class name
ARRAYS = "arrays"  # in place of a device: tensors are decoded as NumPy arrays


class MessageLimits(NamedTuple):
    """The most values in lists, tuples and dicts, and the most array entries, of one message."""

    values: int
    entries: int


FRAME = MessageLimits(20_000, 2**20)  # the largest frame of the course has 105 values and 48,000 entries
FILE_LIMITS = MessageLimits(1_000_000, MAX_BODY)  # caches and answer keys, which the grader writes itself


SHORT = frozenset({type(None), bool, float})  # leaves of a tree that need no check
LEAVES = SHORT | {int, str}
_TOO_MANY_DIGITS = f"it holds an integer of more than {MAX_DIGITS} digits"
_TOO_LARGE = 10**MAX_DIGITS


def _integer(digits: str) -> int:
    """Parse an integer of limited length; the time for parsing grows with the square of the length."""
    if len(digits) > MAX_DIGITS + 1:
        raise Malformed(_TOO_MANY_DIGITS)
    return int(digits)


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # in time that grows with its length

_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_from_json = json.JSONDecoder(parse_int=_integer).decode


@dataclass(frozen=True)
class Handle:
    """A reference to an object in the worker."""

    id: int
    type_name: str
    callable: bool = False


@dataclass(frozen=True)
class Callback:
    """A reference to a function in the grader that the submission may call; with `array`, to what reads and
    writes an array that lies on a device."""

    id: int
    array: ArrayOutline | None = None


@dataclass(frozen=True)
class TensorOutline:
    """The dtype, shape and device of a tensor that is sent without its values."""

    dtype: str
    shape: tuple[int, ...]
    device: str
    is_array: bool = False  # the grader, which decodes tensors as arrays, keeps the outline itself

    @classmethod
    def of(cls, tensor: Any) -> TensorOutline:
        return cls(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), str(tensor.device))


class _Size:
    """Counts the contents of a message; each method raises Malformed if they exceed the limits."""

    def __init__(self, limits: MessageLimits) -> None:
        self.limits, self.values, self.entries = limits, 0, 0

    def add_items(self, items: Any, most: float = math.inf) -> None:
        """Count the items of a list, a tuple or a dict."""
        self.values += len(items)
        if self.values > self.limits.values:
            raise Malformed(f"it holds more than {self.limits.values:,} values")
        if len(items) > most:
            raise Malformed(f"it holds a dict with more than {most:,} keys")

    def add_array(self, shape: Any) -> None:
        """Count the entries of an array. A length of 0 counts as 1: iterating over empty rows takes time."""
        if len(shape) > MAX_AXES:
            raise Malformed(f"it holds an array with more than {MAX_AXES} axes")
        self.entries += math.prod(max(length, 1) for length in shape)
        if self.entries > self.limits.entries:
            raise Malformed(f"its arrays have more than {self.limits.entries:,} entries")

    def check_call(self, message: dict[str, Any]) -> None:
        """Limit the arguments of a call back to the grader, whose functions have no time limit."""
        if "callback" in message and self.values + self.entries > MAX_ARGUMENTS:
            raise Malformed(f"it calls a function with more than {MAX_ARGUMENTS:,} values")


def encode(
    message: dict[str, Any], limits: MessageLimits = FRAME, *, gaps: bool = False, as_tensors: bool = False
) -> tuple[bytes, list[bytes]]:
    """Encode a message as header bytes and array buffers, with the `gaps` between the entries of an array if
    they matter. With `as_tensors`, arrays are decoded as tensors, and NumPy's scalars as numbers. Raises
    Malformed if a value cannot be encoded."""
    encoder = _Encoder(limits, gaps=gaps, as_tensors=as_tensors)
    tree = encoder.encode(message)
    encoder.size.check_call(message)
    if sum(map(len, encoder.buffers)) > MAX_BODY:
        raise Malformed(f"the arrays take more than {MAX_BODY >> 20} MiB")
    header = _to_json([tree, encoder.table]).encode()
    _check_header(header, limits)
    return header, encoder.buffers


def _check_header(header: bytes, limits: MessageLimits) -> None:
    """Raise Malformed if the JSON in a header could decode to more values than the limits allow."""
    if len(header) > MAX_HEADER:
        raise Malformed(f"the values take more than {MAX_HEADER >> 20} MiB")
    most = MAX_MARKS * limits.values
    if (
        _marks(header) > most and _marks(_STRING.sub(b"", header)) > most
    ):  # a text may hold any number of them
        raise Malformed(f"it holds more than {limits.values:,} values")


def _marks(header: bytes) -> int:
    return sum(map(header.count, (b"[", b"{", b",")))


def _checked_key(key: Any) -> Any:
    if type(key) is str and len(key) <= MAX_KEY_LENGTH:
        return key
    if type(key) not in (str, int):
        raise Malformed("a dict has keys that are neither strings nor integers")
    if type(key) is str:
        raise Malformed(f"it holds a dict with a key of more than {MAX_KEY_LENGTH} characters")
    if abs(key) >= MAX_KEY:
        raise Malformed("it holds a dict with an integer key of 2**53 or more")
    return key


def _checked_dtype(name: Any) -> str:
    if type(name) is not str or name not in DTYPES:
        raise Malformed("a dtype is not allowed")
    return name


def _checked_leaf(value: Any) -> Any:
    if type(value) is int and abs(value) >= _TOO_LARGE:
        raise Malformed(_TOO_MANY_DIGITS)
    if type(value) is str and len(value) > MAX_TEXT:
        raise Malformed(f"it holds a string of more than {MAX_TEXT:,} characters")
    return value


class _Encoder:
    """Encodes one message: `table` describes its arrays, `buffers` are their bytes."""

    def __init__(self, limits: MessageLimits, *, gaps: bool, as_tensors: bool) -> None:
        self.size, self.gaps, self.as_tensors = _Size(limits), gaps, as_tensors
        self.table: list[Any] = []
        self.buffers: list[bytes] = []

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return the JSON representation of a value."""
        if depth > MAX_DEPTH:
            raise Malformed("the value is nested too deeply")
        kind = type(value)
        if kind in LEAVES:
            return value if kind in SHORT else _checked_leaf(value)
        if kind is list or kind is tuple:
            self.size.add_items(value)
            items = [self.encode(item, depth + 1) for item in value]
            return items if kind is list else {"t": items}
        if kind is dict:
            self.size.add_items(value, MAX_KEYS)
            return {"d": [[_checked_key(key), self.encode(item, depth + 1)] for key, item in value.items()]}
        return self._encode_object(value)

    def _encode_object(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            is_number = self.as_tensors and value.dtype.kind in "biuf"
            return value.item() if is_number else {"s": self._add_array(np.asarray(value))}
        if isinstance(value, np.ndarray):
            if self.as_tensors:
                return {"T": self._add_array(forwards(value)), "on": "cpu"}
            return {"a": self._add_array(value)}
        if isinstance(value, Handle):
            return {"h": [value.id, value.type_name, value.callable]}
        if isinstance(value, Callback):
            array = value.array
            if array is None:
                return {"c": value.id}
            return {"c": [value.id, array.name, array.type_name, array.shape, array.strides]}
        if isinstance(value, TensorOutline):
            self.size.add_array(value.shape)
            return {"p": [_checked_dtype(value.dtype), value.shape, value.device]}
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            if value.is_meta:
                return self._encode_object(TensorOutline.of(value))
            return {"T": self._add_tensor(torch, value), "on": str(value.device)}
        raise Malformed(f"a value of type {type(value).__name__} cannot travel")

    def _add_array(self, array: Array, dtype: str = "") -> int:
        """Append an array's bytes in the memory order of its axes, so that decoding restores the strides.
        The order is None for a C-contiguous array."""
        name = dtype or name_of(array.dtype)
        if name not in DTYPES or not array.dtype.isnative:
            raise Malformed(f"arrays of dtype {name} cannot travel")
        if array.nbytes > MAX_BODY:
            raise Malformed(f"an array of shape {array.shape} is too large")
        self.size.add_array(array.shape)
        if array.flags.c_contiguous:
            self.buffers.append(array.tobytes())
            self.table.append([name, array.shape, None])
        else:
            if self.gaps and (span := span_of(array)) is not None:
                self.size.add_array((len(span.entries),))
                self.buffers.append(span.entries.tobytes())
                self.table.append([name, array.shape, [len(span.entries), span.first, span.steps]])
                return len(self.table) - 1
            # An axis of length 1 may have any stride, and comes last: what is read back is written alike.
            steps = [array.shape[axis] > 1 and abs(array.strides[axis]) for axis in range(array.ndim)]
            order = sorted(range(array.ndim), key=lambda axis: (-steps[axis], axis))
            self.buffers.append(array.transpose(order).tobytes())
            self.table.append([name, array.shape, order])
        return len(self.table) - 1

    def _add_tensor(self, torch: Any, tensor: Any) -> int:
        if tensor.nbytes > MAX_BODY:
            raise Malformed(f"a tensor of shape {tuple(tensor.shape)} is too large")
        try:
            return self._add_array(tensor.numpy())
        except (TypeError, RuntimeError):  # it requires gradients, is not on the CPU or has no NumPy dtype
            plain = tensor.detach().cpu().resolve_conj().resolve_neg()
        if plain.dtype is torch.bfloat16:
            return self._add_array(plain.view(torch.int16).numpy(), "bfloat16")
        try:
            return self._add_array(plain.numpy())
        except (TypeError, RuntimeError):
            name = str(tensor.dtype).removeprefix("torch.")
            raise Malformed(f"tensors of dtype {name} cannot travel") from None


def forwards(array: Array) -> Array:
    """Return the array, or a contiguous copy if it has a negative stride, which tensors cannot have."""
    return array.copy("C") if any(stride < 0 for stride in array.strides) else array


class MemorySpan(NamedTuple):
    """The memory that an array covers, with one entry before it: its `entries`, the index of the array's
    `first` entry, and the `steps` between the entries along each axis."""

    entries: Array
    first: int
    steps: list[int]

    def array(self, shape: tuple[int, ...]) -> Array:
        """Return the array of that shape. Raises ValueError if it leaves the memory."""
        size = self.entries.itemsize
        strides = [step * size for step in self.steps]
        memory: Any = self.entries
        return np.ndarray(shape, self.entries.dtype, memory, self.first * size, strides)


def span_of(array: Array) -> MemorySpan | None:
    """Return a copy of the memory that an array covers; None if its axes are only permuted, or if the memory
    is much larger than the array."""
    size = array.itemsize
    steps = [stride // size for stride in array.strides]
    ends = [(length - 1) * step for length, step in zip(array.shape, steps, strict=True)]
    length = 1 + sum(map(abs, ends))
    is_backwards = any(end < 0 for end in ends)
    if 0 in array.shape or any(stride % size for stride in array.strides):
        return None
    if (length == array.size and not is_backwards) or length > MOST_GAPS * array.size + MOST_GAPS:
        return None
    lowest = array[tuple(slice(-1, None) if end < 0 else slice(1) for end in ends)]
    covered = np.lib.stride_tricks.as_strided(lowest, (length,), (size,))
    entries = np.concatenate([covered[:1], covered])
    return MemorySpan(entries, 1 - sum(end for end in ends if end < 0), steps)


@functools.cache
def name_of(dtype: np.dtype[Any]) -> str:
    """Return `float32`, `int64`, …; cached, because NumPy is slow to build the name."""
    return dtype.name


def decode(
    header: bytes, body: bytearray, device: str | None = "cpu", limits: MessageLimits = FRAME
) -> dict[str, Any]:
    """Decode a message from `encode`. Arrays are new and writable. Tensors are on `device`; if it is ARRAYS
    they are arrays, and if it is None Handles. Raises Malformed."""
    _check_header(header, limits)
    try:
        tree, table = _from_json(header.decode())
        size = _Size(limits)
        message = _Decoder(_read_arrays(table, body, size), size, device).decode(tree)
        if type(message) is not dict:
            raise Malformed("the message is no dict")
        size.check_call(message)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError, AttributeError):
        raise Malformed("the header is no header") from None
    return message


def _read_arrays(table: Any, body: bytearray, size: _Size) -> dict[int, tuple[str, Array]]:
    arrays: dict[int, tuple[str, Array]] = {}
    array: Array
    at = 0
    for name, shape, order in table:
        _check_shape(shape, size)
        dtype = _DTYPES[_checked_dtype(name)]
        gaps = type(order) is list and len(order) == 3 and type(order[2]) is list
        stored = [order[0]] if gaps else shape
        _check_shape(stored, _Size(size.limits))
        if math.prod(stored) * dtype.itemsize > len(body) - at:
            raise Malformed("an array is larger than the body")
        if gaps:
            array = MemorySpan(np.ndarray(stored, dtype, body, at), *_checked_steps(*order[1:])).array(shape)
        elif order is None:
            array = np.ndarray(shape, dtype, body, at)
        elif sorted(order) == list(range(len(shape))):
            array = np.ndarray([shape[axis] for axis in order], dtype, body, at)
            array = array.transpose(np.argsort(order))
        else:
            raise Malformed("an order of axes is no order")
        arrays[len(arrays)] = name, array
        at += math.prod(stored) * dtype.itemsize
    if at != len(body):
        raise Malformed("the arrays do not fill the body")
    return arrays


def _checked_steps(first: Any, steps: list[Any]) -> tuple[int, list[int]]:
    if not all(type(number) is int and abs(number) < MAX_BODY for number in (first, *steps)):
        raise Malformed("the steps of an array are no steps")
    return first, steps


def _check_shape(shape: Any, size: _Size) -> None:
    if type(shape) is not list or not all(type(length) is int and length >= 0 for length in shape):
        raise Malformed("a shape is no shape")
    size.add_array(shape)


class _Decoder:
    """Decodes one message. Each array may be used once, so that a short header cannot make a large value."""

    def __init__(self, arrays: dict[int, tuple[str, Array]], size: _Size, device: str | None) -> None:
        self.arrays, self.size, self.device = arrays, size, device

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Return the value that `encode` turned into `tree`."""
        if depth > MAX_DEPTH:
            raise Malformed("the value is nested too deeply")
        kind = type(tree)
        if kind in SHORT:
            return tree
        if kind is list:
            return self._items(tree, depth)
        if kind is not dict:
            return _checked_leaf(tree)
        if len(tree) != 1 + ("on" in tree):
            raise Malformed("a value has no tag, or several")
        tag, content = next(iter(tree.items()))
        if tag in ("t", "d") and type(content) is not list:
            raise Malformed("the items of a value are no list")
        if tag == "t":
            return tuple(self._items(content, depth))
        if tag == "d":
            return self._dict(content, depth)
        if tag in ("a", "s", "T"):
            return self._array(tag, *self.arrays.pop(content))
        return _decode_reference(tag, content, self.size, is_array=self.device == ARRAYS)

    def _items(self, items: Any, depth: int) -> list[Any]:
        self.size.add_items(items)
        return [self.decode(item, depth + 1) for item in items]

    def _dict(self, pairs: Any, depth: int) -> dict[Any, Any]:
        self.size.add_items(pairs, MAX_KEYS)
        decoded = {_checked_key(key): self.decode(item, depth + 1) for key, item in pairs}
        if len(decoded) != len(pairs):
            raise Malformed("a key of a dict comes twice")
        return decoded

    def _array(self, tag: str, name: str, array: Array) -> Any:
        if tag == "T" and self.device == ARRAYS:
            if name == "bfloat16":  # which NumPy has not; as float32 it would pass for a right answer
                return Handle(0, "Tensor of dtype bfloat16")
            return array if array.ndim else array[()]  # a scalar, as NumPy's reductions return
        if tag == "T":
            # A tensor from a submission must not make the grader import PyTorch.
            known = self.device is not None and "torch" in sys.modules
            return _to_tensor(name, array, self.device) if known else Handle(0, "Tensor")
        return array if tag == "a" else array[()]


def in_one_line(text: str) -> str:
    """Return a submission's text on one line, with invisible characters escaped."""
    words = " ".join(text.split())
    return words if words.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)


def _decode_reference(tag: str, content: Any, size: _Size, *, is_array: bool) -> Any:
    if tag == "h":
        number, type_name, is_callable = content
        return Handle(_checked_id(number), _checked_name(type_name), bool(is_callable))
    if tag == "c" and type(content) is list:
        number, name, dtype, shape, strides = content
        _check_shape(shape, size)
        if type(strides) is not list or [type(step) for step in strides] != [int] * len(shape):
            raise Malformed("the strides of an array are none")
        outline = ArrayOutline(_checked_name(name), _checked_dtype(dtype), tuple(shape), tuple(strides))
        return Callback(_checked_id(number), outline)
    if tag == "c":
        return Callback(_checked_id(content))
    if tag == "p":
        dtype, shape, device = content
        _check_shape(shape, size)
        return TensorOutline(_checked_dtype(dtype), tuple(shape), _checked_name(device), is_array)
    raise Malformed("a tag is unknown")


def _checked_id(number: Any) -> int:
    if type(number) is not int or not 0 <= number < MAX_ID:
        raise Malformed("the number of an object is no number")
    return number


def _checked_name(name: Any) -> str:
    if type(name) is not str:
        raise Malformed("a name is no text")
    return in_one_line(name[:MAX_NAME])


def _to_tensor(name: str, array: Array, device: str | None) -> Any:
    import torch

    tensor = torch.from_numpy(array)
    tensor = tensor.view(torch.bfloat16) if name == "bfloat16" else tensor
    return tensor.to(device) if device != "cpu" else tensor
