"""Numbers as kernels have them: blocks with a shape and a dtype, and the operations of `triton.language`.

A block is an array of NumPy that behaves as Triton's do: a Python number takes the dtype of the block beside
it, `/` gives float32, `//` and `%` of negative integers round towards zero, and shapes are
compatible or refused. bfloat16 is kept as float32 numbers that bfloat16 has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

Data = np.ndarray[Any, Any]


class KernelError(Exception):
    """What Triton refuses when it compiles a kernel. Its name is Triton's."""


KernelError.__name__ = KernelError.__qualname__ = "CompilationError"


class DType:
    """A dtype of Triton. `kind` is `b`, `i`, `u` or `f`; `bits` is its width."""

    def __init__(self, name: str, kind: str, bits: int, stored: str) -> None:
        self.name, self.kind, self.bits, self.stored = name, kind, bits, np.dtype(stored)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other).removeprefix("torch.").removeprefix("tl.")

    def __hash__(self) -> int:
        return hash(self.name)

    __str__ = __repr__

    @property
    def itemsize(self) -> int:
        """The bytes of one entry in memory."""
        return max(1, self.bits // 8)

    def rounded(self, data: Data) -> Data:
        """Return numbers as this dtype has them; they may be the same array, which nobody writes to."""
        if self.name == "bfloat16":
            return to_bfloat16(data)
        if data.dtype == self.stored:
            return data
        with np.errstate(all="ignore"):
            return data.astype(self.stored)


def to_bfloat16(data: Data) -> Data:
    """Return the nearest numbers that bfloat16 has, ties to even, as float32."""
    with np.errstate(all="ignore"):
        bits = data.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(data), np.float32("nan"), rounded.view(np.float32)).astype(np.float32)


DTYPES = {
    one.name: one
    for one in (
        DType("int1", "b", 1, "bool"),
        *(DType(f"int{bits}", "i", bits, f"int{bits}") for bits in (8, 16, 32, 64)),
        *(DType(f"uint{bits}", "u", bits, f"uint{bits}") for bits in (8, 16, 32, 64)),
        DType("float16", "f", 16, "float16"),
        DType("bfloat16", "f", 16, "float32"),
        DType("float32", "f", 32, "float32"),
        DType("float64", "f", 64, "float64"),
    )
}
INT1, INT32, INT64, FLOAT32 = (DTYPES[name] for name in ("int1", "int32", "int64", "float32"))


def dtype_named(name: str) -> DType:
    """Return a dtype by the name that arrays have for it."""
    return INT1 if name == "bool" else DTYPES[name]


class Block:
    """Some numbers of one program: `data`, of a `dtype`."""

    __slots__ = ("data", "dtype")
    __hash__ = None  # type: ignore[assignment]  # `==` gives a block

    def __init__(self, data: Any, dtype: DType) -> None:
        self.data, self.dtype = np.asarray(data), dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def T(self) -> Block:  # Triton's name
        return Block(self.data.T, self.dtype)

    def to(self, dtype: DType, fp_downcast_rounding: Any = None, bitcast: bool = False) -> Block:  # noqa: ARG002, FBT001, FBT002  # Triton's signature
        """Return the block in another dtype; with `bitcast`, its bits as they are. Raises KernelError."""
        if not bitcast:
            return Block(dtype.rounded(self.data), dtype)
        if self.dtype.bits != dtype.bits:
            raise KernelError(
                f"Cannot bitcast data-type of size {self.dtype.bits} to data-type of size {dtype.bits}"
            )
        bits = np.array(self.data, order="C")
        if self.dtype.name == "bfloat16":
            bits = (bits.view(np.uint32) >> 16).astype(np.uint16)
        if dtype.name == "bfloat16":
            return Block((bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32), dtype)
        return Block(bits.view(dtype.stored), dtype)

    def __getitem__(self, index: Any) -> Block:
        parts = index if isinstance(index, tuple) else (index,)
        if any(not (part is None or part == slice(None)) for part in parts):
            raise KernelError("a block takes `:` and `None` in brackets alone: its entries have no index")
        return Block(self.data[index], self.dtype)

    def __bool__(self) -> bool:
        if self.shape:
            raise KernelError(f"a block of shape {list(self.shape)} is no single truth value: use tl.where")
        return bool(self.data)

    def __neg__(self) -> Block:
        return Block(-self.data, self.dtype)

    def __invert__(self) -> Block:
        return Block(~self.data, self.dtype)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def as_block(value: Any, beside: DType | None = None) -> Block:
    """Return a value as a block; a Python number has the dtype `beside` it where that can hold its kind."""
    if isinstance(value, Block):
        return value
    if hasattr(value, "is_pointer"):
        raise KernelError("a pointer is no number: tl.load reads what it points to")
    if isinstance(value, bool):
        return Block(np.bool_(value), INT1)
    if isinstance(value, int):
        own = INT32 if -(2**31) <= value < 2**31 else INT64
        return _number(str(value), beside if beside is not None and beside.kind in "iuf" else own)
    if isinstance(value, float):
        return _number(value.hex(), beside if beside is not None and beside.kind == "f" else FLOAT32)
    raise KernelError(f"a value of type {type(value).__name__} is no block")


@lru_cache(1024)
def _number(text: str, dtype: DType) -> Block:
    """Return a block of one number, which is given as text: 0.0 and -0.0 are two texts, and one key of a
    cache. Kernels use few numbers, and these often."""
    value = int(text) if text.lstrip("-").isdigit() else float.fromhex(text)
    return Block(dtype.rounded(np.asarray(value)), dtype)


def common(one: DType, other: DType) -> DType:
    """Return the dtype in which two blocks meet."""
    if one is other:
        return one
    if "f" in (one.kind, other.kind):
        if one.kind != other.kind:
            return one if one.kind == "f" else other
        if one.bits == other.bits:  # float16 and bfloat16
            return FLOAT32
        return max(one, other, key=lambda dtype: dtype.bits)
    if one.bits != other.bits:
        return max(one, other, key=lambda dtype: dtype.bits)
    return one if one.kind == "u" else other


def together(one: Any, other: Any) -> tuple[Block, Block, DType]:
    """Return two values as blocks whose shapes go together, and their common dtype."""
    left, right = _beside(one, other), _beside(other, one)
    if left.data.shape != right.data.shape:
        shape_of(left.data.shape, right.data.shape)
    if left.dtype is right.dtype:
        return left, right, left.dtype
    dtype = common(left.dtype, right.dtype)
    return Block(dtype.rounded(left.data), dtype), Block(dtype.rounded(right.data), dtype), dtype


def _beside(value: Any, other: Any) -> Block:
    """Return a value as a block that meets another one. Raises KernelError for an integer that the dtype of
    the other one does not have."""
    if isinstance(value, Block):
        return value
    dtype = other.dtype if isinstance(other, Block) else None
    if dtype is not None and type(value) is int and dtype.kind in "iu":
        if value < 0 and dtype.kind == "u":
            raise KernelError(
                "Cannot perform a binary operation between an unsigned tensor and a negative scalar. Perform"
                " a explicit cast on one of them."
            )
        if not np.iinfo(dtype.stored).min <= value <= np.iinfo(dtype.stored).max:
            raise KernelError(f"Scalar {value} is out of range for type {dtype}")
    return as_block(value, dtype)


@lru_cache(1024)
def shape_of(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which two shapes are broadcast. Raises KernelError."""
    if not one or not other:
        return one or other
    wide = max(len(one), len(other))
    left, right = ((1,) * (wide - len(shape)) + shape for shape in (one, other))
    for at, (a, b) in enumerate(zip(left, right, strict=True)):
        if a != b and 1 not in (a, b):
            raise KernelError(
                f"Cannot make_shape_compatible: incompatible dimensions at index {at}: {a} and {b}"
            )
    return tuple(max(pair) for pair in zip(left, right, strict=True))


def _divided(a: Data, b: Data) -> Data:
    """Return the quotients of integers, rounded towards zero as a GPU does."""
    quotient = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.where((a < 0) != (b < 0), -quotient, quotient).astype(a.dtype)


def _remainder(a: Data, b: Data) -> Data:
    remainder: Data = (a - _divided(a, b) * b).astype(a.dtype)
    return remainder


def _require_one_sign(one: Any, other: Any) -> None:
    """Raise KernelError for a division of signed by unsigned integers, or the other way round."""
    found = [value.dtype for value in (one, other) if isinstance(value, Block)]
    if {dtype.kind for dtype in found} == {"i", "u"}:
        raise KernelError(
            f"Cannot use /, #, or % with {found[0]} and {found[1]} because they have different signedness;"
            " this is unlikely to result in a useful answer. Cast them to the same signedness."
        )


def _arithmetic(function: Callable[[Any, Any], Any], kinds: str, sign: str) -> Callable[[Any, Any], Any]:
    def operate(one: Any, other: Any) -> Any:
        if hasattr(other, "is_pointer"):
            return NotImplemented
        if sign in ("//", "%"):
            _require_one_sign(one, other)
        left, right, dtype = together(one, other)
        if dtype.kind not in kinds:
            raise KernelError(f"`{sign}` takes no {dtype}")
        return Block(dtype.rounded(np.asarray(function(left.data, right.data))), dtype)

    return operate


def _quotient(one: Any, other: Any) -> Block:
    _require_one_sign(one, other)
    left, right, dtype = together(one, other)
    dtype = dtype if dtype.name == "float64" else FLOAT32
    return Block(dtype.rounded(dtype.rounded(left.data) / dtype.rounded(right.data)), dtype)


def _comparison(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Block]:
    def compare(one: Any, other: Any) -> Block:
        left, right, _ = together(one, other)
        return Block(function(left.data, right.data), INT1)

    return compare


_OPERATORS = {
    "add": _arithmetic(operator.add, "iuf", "+"),
    "sub": _arithmetic(operator.sub, "iuf", "-"),
    "mul": _arithmetic(operator.mul, "iuf", "*"),
    "truediv": _quotient,
    "floordiv": _arithmetic(_divided, "iu", "//"),
    "mod": _arithmetic(_remainder, "iu", "%"),
    "and": _arithmetic(operator.and_, "biu", "&"),
    "or": _arithmetic(operator.or_, "biu", "|"),
    "xor": _arithmetic(operator.xor, "biu", "^"),
    "lshift": _arithmetic(operator.lshift, "iu", "<<"),
    "rshift": _arithmetic(operator.rshift, "iu", ">>"),
}
for _name, _operate in _OPERATORS.items():
    setattr(Block, f"__{_name}__", _operate)
    setattr(Block, f"__r{_name}__", lambda own, other, operate=_operate: operate(other, own))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Block, f"__{_name}__", _comparison(getattr(operator, _name)))
