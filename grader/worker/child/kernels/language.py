"""The functions of `triton.language` that kernels of katas need, in NumPy.

What Triton refuses is refused, in its words: a size that is no power of two, or that is not known before the
launch, shapes that do not fit, a pointer that is used as a number.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grader.worker.child.kernels.blocks import (
    DTYPES,
    FLOAT32,
    INT1,
    INT32,
    INT64,
    Block,
    DType,
    KernelError,
    as_block,
    dtype_named,
    shape_of,
    to_bfloat16,
    together,
)
from grader.worker.child.kernels.launching import FrozenModule, Kernel, Pointer, constexpr, launch
from grader.worker.child.kernels.loops import counted_range, static_range
from grader.worker.child.kernels.shapes import (
    arange,
    broadcast_to,
    expand_dims,
    full,
    interleave,
    join,
    permute,
    reshape,
    sizes_of,
    split,
    trans,
    zeros,
    zeros_like,
)

SMALLEST_DOT = 16  # the shortest side over which tl.dot adds up
SMALLEST_DOT_OF_BYTES = 32  # the same for numbers of eight bits


def program_id(axis: int) -> Block:
    """Return the number of the running program on an axis of the grid."""
    place = launch().place()
    _require_axis("program_id", axis)
    return Block(np.int32(place[axis] if axis < len(place) else 0), INT32)


def num_programs(axis: int) -> Block:
    """Return how many programs an axis of the grid has."""
    grid = launch().grid
    _require_axis("num_programs", axis)
    return Block(np.int32(grid[axis] if axis < len(grid) else 1), INT32)


def _require_axis(name: str, axis: int) -> None:
    if axis not in (0, 1, 2):
        raise KernelError(f"{name} axis must be 0, 1, or 2 but got {axis}")


class BlockPointer:
    """Where a block of an array of some axes is, as `tl.make_block_ptr` gives it."""

    __slots__ = ("base", "block_shape", "offsets", "sizes", "steps")
    is_pointer = True

    def __init__(self, base: Pointer, sizes: Any, steps: Any, offsets: Any, block_shape: Any) -> None:
        self.base, self.sizes, self.steps = base, sizes, steps
        self.offsets, self.block_shape = offsets, block_shape

    def entries(self, boundary_check: Sequence[int]) -> tuple[Pointer, Any]:
        """Return the pointer to the block's entries, and the mask of those inside of the axes that are
        checked; None if none is."""
        at: Any = 0
        mask: Any = None
        wide = len(self.block_shape)
        for axis, size in enumerate(self.block_shape):
            index = (None,) * axis + (slice(None),) + (None,) * (wide - axis - 1)
            place: Any = (self.offsets[axis] + arange(0, size).to(INT64))[index]
            at = at + broadcast_to(place * self.steps[axis], self.block_shape)
            if axis in boundary_check:
                inside = broadcast_to((place >= 0) & (place < self.sizes[axis]), self.block_shape)
                mask = inside if mask is None else mask & inside
        return self.base + at, mask


def make_block_ptr(
    base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
) -> BlockPointer:
    """Return a pointer to a block of an array with these axes. Raises KernelError."""
    if not isinstance(base, Pointer) or base.shape:
        raise KernelError("Expected `base` to be a pointer type (but not a block pointer type or others)")
    axes = len(block_shape)
    if not axes == len(shape) == len(strides) == len(offsets) == len(order):
        raise KernelError("Expected shape/strides/offsets/block_shape to have the same length")
    if sorted(order) != [*range(axes)]:
        raise KernelError(f"Expected 'order' to be a permutation of (0, 1, ..., len(order)-1), got {order}")
    return BlockPointer(base, tuple(shape), tuple(strides), tuple(offsets), sizes_of(block_shape))


def advance(base: Any, offsets: Any) -> BlockPointer:
    """Return a block pointer that is moved by so many entries on each axis. Raises KernelError."""
    if not isinstance(base, BlockPointer) or len(offsets) != len(base.offsets):
        raise KernelError("tl.advance takes a block pointer, and a number for each of its axes")
    moved = tuple(as_block(old) + by for old, by in zip(base.offsets, offsets, strict=True))
    return BlockPointer(base.base, base.sizes, base.steps, moved, base.block_shape)


def _of_block_pointer(
    pointer: BlockPointer, given: Sequence[Any], boundary_check: Any
) -> tuple[Pointer, Any]:
    """Return the pointer and the mask of an access by a block pointer. Raises KernelError."""
    if any(value is not None for value in given):
        raise KernelError("`mask` and `other` arguments cannot be specified for loading block pointers")
    return pointer.entries(boundary_check)


def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Sequence[int] = (),
    padding_option: str = "",
    **_: Any,
) -> Block:
    """Return the entries that a pointer points to. What the mask leaves out is `other`; without one it is
    undefined, here NaN or a number far away."""
    if isinstance(pointer, BlockPointer):
        pointer, mask = _of_block_pointer(pointer, (mask, other), boundary_check)
        other = {"zero": 0, "nan": float("nan")}.get(padding_option)
    at, chosen = _lanes(pointer, mask, "load")
    running, dtype = launch(), dtype_named(pointer.array.type_name)
    found = pointer.array.access("load", running.program, _line(), at.data, chosen)
    found = np.asarray(found).reshape(at.shape)
    block = Block(found if dtype.name != "bfloat16" else to_bfloat16(found), dtype)
    if other is not None and chosen is not None:
        filled = together(Block(block.data, dtype), as_block(other, dtype))[1]
        return Block(np.where(chosen, block.data, dtype.rounded(filled.data)), dtype)
    return block


def store(pointer: Any, value: Any, mask: Any = None, boundary_check: Sequence[int] = (), **_: Any) -> None:
    """Write a block to where a pointer points, except for what the mask leaves out."""
    if isinstance(pointer, BlockPointer):
        pointer, mask = _of_block_pointer(pointer, (mask,), boundary_check)
    at, chosen = _lanes(pointer, mask, "store")
    dtype = dtype_named(pointer.array.type_name)
    numbers = as_block(value, dtype)
    shape_of(at.shape, numbers.shape)
    written = dtype.rounded(np.broadcast_to(numbers.data, at.shape))
    pointer.array.access("store", launch().program, _line(), at.data, chosen, written.copy())


def atomic_add(pointer: Any, value: Any, mask: Any = None, **_: Any) -> None:
    """Add a block to where a pointer points; programs that add to one place do not disturb each other."""
    at, chosen = _lanes(pointer, mask, "atomic_add")
    dtype = dtype_named(pointer.array.type_name)
    added = dtype.rounded(np.broadcast_to(as_block(value, dtype).data, at.shape))
    pointer.array.access("atomic_add", launch().program, _line(), at.data, chosen, added.copy())


def _lanes(pointer: Any, mask: Any, what: str) -> tuple[Block, Any]:
    """Return the numbers of entries, and the mask in their shape. Raises KernelError."""
    if not isinstance(pointer, Pointer):
        raise KernelError(f"tl.{what} takes a pointer first: x_ptr + the numbers of entries")
    if pointer.launch is not launch():
        raise KernelError("a pointer belongs to the launch that it was given to")
    if mask is None:
        return pointer.at, None
    chosen = as_block(mask)
    if chosen.dtype is not INT1:
        raise KernelError(f"Mask argument must be of type int1, and {chosen.dtype} is none")
    shape = shape_of(pointer.shape, chosen.shape)
    at, mask = (
        one.data if one.shape == shape else np.broadcast_to(one.data, shape).copy()
        for one in (pointer.at, chosen)
    )
    return Block(at, INT64), mask


def _line() -> int:
    """Return the line of the kernel that runs."""
    frame, kernel = sys._getframe(2), launch().kernel.function.__code__
    while frame is not None and frame.f_code is not kernel:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None else 0


def where(condition: Any, x: Any, y: Any) -> Block:
    """Return x where the condition holds, and y elsewhere."""
    left, right, dtype = together(x, y)
    chosen = as_block(condition)
    shape_of(chosen.shape, shape_of(left.shape, right.shape))
    return Block(np.where(chosen.data, left.data, right.data), dtype)


def maximum(x: Any, y: Any, **_: Any) -> Block:
    left, right, dtype = together(x, y)
    return Block(np.fmax(left.data, right.data), dtype)  # a NaN gives the other number


def minimum(x: Any, y: Any, **_: Any) -> Block:
    left, right, dtype = together(x, y)
    return Block(np.fmin(left.data, right.data), dtype)


def _of_floats(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Block]:
    def apply(x: Any) -> Block:
        block = as_block(x)
        if block.dtype.name not in ("float32", "float64"):
            raise KernelError(f"Expected dtype ['fp32', 'fp64'] but got {block.dtype} in tl.{name}")
        return Block(block.dtype.rounded(np.asarray(function(block.data))), block.dtype)

    apply.__name__ = name
    return apply


def clamp(x: Any, min: Any, max: Any, **_: Any) -> Block:  # Triton's names
    """Return the numbers of x, and in place of those beyond the bounds the bounds."""
    return minimum(maximum(x, min), max)


def fma(x: Any, y: Any, z: Any) -> Block:
    """Return x * y + z, rounded once."""
    left, right, first = together(x, y)
    product, added, dtype = together(Block(left.data, first), z)
    if dtype.kind != "f":
        raise KernelError(f"Unexpected dtype {dtype} in tl.fma")
    wide = product.data.astype(np.float64) * right.data + added.data
    return Block(dtype.rounded(np.asarray(wide)), dtype)


def absolute(x: Any) -> Block:
    block = as_block(x)
    return Block(np.abs(block.data), block.dtype)


def _of_sums(dtype: DType) -> DType:
    """Return the dtype in which Triton adds up: integers have at least 32 bits."""
    if dtype.kind == "f" or dtype.bits >= 32:
        return dtype
    return INT32 if dtype.kind == "i" else DTYPES["uint32"]


def _of_extremes(dtype: DType) -> DType:
    """Return the dtype of a largest or smallest number: at least 32 bits."""
    if dtype.bits >= 32:
        return dtype
    return FLOAT32 if dtype.kind == "f" else INT32


def _reduction(function: Callable[..., Any], wide: Callable[[DType], DType]) -> Callable[..., Block]:
    def reduce(
        x: Any,
        axis: int | None = None,
        keep_dims: bool = False,  # noqa: FBT001, FBT002  # Triton's signature
        dtype: DType | None = None,
        **_: Any,
    ) -> Block:
        block = as_block(x)
        if not block.shape:
            raise KernelError("a single number has no axis to reduce")
        if axis is not None and not -len(block.shape) <= axis < len(block.shape):
            raise KernelError(
                f"expected reduction axis to be in the range [0, {len(block.shape)}) but got {axis}"
            )
        result = dtype or wide(block.dtype)
        found = function(result.rounded(block.data), axis=axis, keepdims=keep_dims)
        return Block(result.rounded(np.asarray(found)), result)

    return reduce


def reduce(
    x: Any,
    axis: int | None,
    combine_fn: Any,
    keep_dims: bool = False,  # noqa: FBT001, FBT002  # Triton's signature
    **_: Any,
) -> Any:
    """Return what a function of the kernel's makes of all entries along an axis: halves are joined until one
    entry is left. x may be a tuple of blocks, of which the function takes and gives as many. Raises
    KernelError."""
    parts = [as_block(part) for part in (x if isinstance(x, tuple) else (x,))]
    shape = parts[0].shape
    if not shape or any(part.shape != shape for part in parts):
        raise KernelError("all reduction inputs must have the same shape, of one axis at least")
    if axis is None:
        parts, at = [Block(part.data.reshape(-1), part.dtype) for part in parts], 0
    else:
        at = axis % len(shape)
    while (size := parts[0].shape[at]) > 1:
        halves = [np.split(part.data, [size // 2], axis=at) for part in parts]
        first, second = (
            [Block(half[side], part.dtype) for half, part in zip(halves, parts, strict=True)]
            for side in (0, 1)
        )
        found = combine_fn(*first, *second)
        parts = [as_block(part) for part in (found if isinstance(found, tuple) else (found,))]
    if not keep_dims:
        parts = [Block(part.data.squeeze(at), part.dtype) for part in parts]
    elif axis is None:
        parts = [Block(part.data.reshape((1,) * len(shape)), part.dtype) for part in parts]
    return tuple(parts) if isinstance(x, tuple) else parts[0]


def softmax(
    x: Any,
    dim: int | None = None,
    keep_dims: bool = False,  # noqa: FBT001, FBT002  # Triton's signature
    **_: Any,
) -> Block:
    """Return the softmax along an axis, the first one if none is given."""
    axis = 0 if dim is None else dim
    scores: Any = as_block(x)
    powers: Any = OF_NUMBERS["exp"](scores - _max(scores, axis, keep_dims))
    found: Block = powers / _sum(powers, axis, keep_dims)
    return found


def dot(a: Any, b: Any, acc: Any = None, out_dtype: DType | None = None, **_: Any) -> Block:
    """Return the product of two matrices, and of `acc` the sum. Raises KernelError."""
    left, right = as_block(a), as_block(b)
    if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
        shapes = f"{list(left.shape)} and {list(right.shape)}"
        raise KernelError(f"tl.dot takes [M, K] and [K, N], and {shapes} are none")
    for side, dtype in (("lhs", left.dtype), ("rhs", right.dtype)):
        if dtype.kind != "f" and (dtype.kind == "b" or dtype.bits != 8):
            raise KernelError(f"Unsupported {side} dtype {dtype}")
    if left.dtype is not right.dtype:
        raise KernelError(f"Both operands must be same dtype. Got {left.dtype} and {right.dtype}")
    smallest = SMALLEST_DOT if left.dtype.kind == "f" else SMALLEST_DOT_OF_BYTES
    if left.shape[1] < smallest:
        raise KernelError(f"Input shapes should have M >= 1, N >= 1 and K >= {smallest}")
    before = None if acc is None else as_block(acc)
    dtype = _of_products(left.dtype, out_dtype or (None if before is None else before.dtype))
    wide = dtype if dtype.bits > 16 else FLOAT32
    product = left.data.astype(wide.stored) @ right.data.astype(wide.stored)
    if before is None:
        return Block(dtype.rounded(product), dtype)
    if before.shape != product.shape:
        shapes = f"{list(product.shape)}, got {list(before.shape)}"
        raise KernelError(f"expected accumulator shape {shapes}")
    if before.dtype != dtype:
        raise KernelError(f"expected accumulator dtype {dtype}, got {before.dtype}")
    return Block(dtype.rounded(before.data + product), dtype)


def _of_products(operands: DType, asked: DType | None) -> DType:
    """Return the dtype in which tl.dot adds up, if it is asked for another one. Raises KernelError."""
    if operands.kind != "f":
        if operands.name != "int8":
            raise KernelError("only int8 supported!")
        return INT32
    if asked == "bfloat16":
        raise KernelError(
            "out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and cast with"
            " `.to(tl.bfloat16)`"
        )
    if operands.name == "float64" or (operands.name, asked) == ("float16", operands):
        return operands
    return FLOAT32


def cast(x: Any, *given: Any, **options: Any) -> Block:
    """Return a block in another dtype, as `x.to` does."""
    return as_block(x).to(*given, **options)


def static_assert(condition: Any, message: str = "") -> None:
    """Raise KernelError unless a condition holds that is known before the launch."""
    if isinstance(condition, Block):
        raise KernelError("tl.static_assert takes tl.constexpr alone")
    if not condition:
        raise KernelError(message or "tl.static_assert: the condition does not hold")


def assume(condition: Any) -> None:
    """Raise KernelError if a condition does not hold that the kernel promises to the compiler."""
    if not as_block(condition).data.all():
        raise KernelError("tl.assume: the condition does not hold")


def nothing(*_: Any, **__: Any) -> None:
    """Stand for what leaves the numbers as they are, such as a barrier within a program."""


def as_it_is(value: Any, *_: Any) -> Any:
    """Return a value that is given with a hint to the compiler."""
    return value


def cdiv(a: Any, b: Any) -> Any:
    """Return a / b, rounded up."""
    if isinstance(a, Block) or isinstance(b, Block):
        return (as_block(a) + b - 1) // b
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << max(0, (n - 1).bit_length())


_sum = _reduction(np.sum, _of_sums)
_max, _min = (_reduction(function, _of_extremes) for function in (np.max, np.min))
#: What a kernel may call of Python's own.
BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name) for name in ("min", "max", "abs", "range", "len", "float", "int", "print")
}
BUILTINS |= {"range": counted_range, "abs": absolute}
BUILTINS["min"] = lambda *given: _extreme(builtins.min, minimum, given)
BUILTINS["max"] = lambda *given: _extreme(builtins.max, maximum, given)


def _extreme(plain: Callable[..., Any], of_blocks: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    if not any(isinstance(value, Block) for value in given):
        return plain(*given)
    if len(given) != 2:
        name = plain.__name__
        raise KernelError(f"{name} takes two values, as tl.{name}imum does; tl.{name} reduces a block")
    return of_blocks(*given)


#: The functions of `tl.math`, which `tl` has too.
OF_NUMBERS: dict[str, Callable[..., Any]] = {
    **{
        name: _of_floats(name, getattr(np, name))
        for name in ("exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "floor", "ceil")
    },
    "rsqrt": _of_floats("rsqrt", lambda x: 1 / np.sqrt(x)),
    "sqrt_rn": _of_floats("sqrt_rn", np.sqrt),
    **{"abs": absolute, "fma": fma, "div_rn": lambda x, y: as_block(x) / y},
    "fdiv": lambda x, y, *_, **__: as_block(x) / y,
}
#: The functions that a block has as methods too.
METHODS: dict[str, Callable[..., Any]] = {
    **OF_NUMBERS,
    "sigmoid": _of_floats("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    **{"sum": _sum, "max": _max, "min": _min, "cast": cast},
    **{"expand_dims": expand_dims, "broadcast_to": broadcast_to, "reshape": reshape, "view": reshape},
    **{"trans": trans, "permute": permute, "split": split, "reduce": reduce, "softmax": softmax},
}
for _name, _function in METHODS.items():
    setattr(Block, _name, _function)


def _module(name: str, about: str, **names: Any) -> Any:
    made = FrozenModule(name, about)
    made.__dict__.update(names, __path__=[], __file__=None)
    return made


def jit(function: Any = None, **_: Any) -> Any:
    """Return the kernel of a function; a decorator if there are options for the compiler alone."""
    return Kernel if function is None else Kernel(function)


class Config:
    """Arguments of a kernel among which `triton.autotune` chooses."""

    def __init__(self, kwargs: Mapping[str, Any], **_: Any) -> None:
        self.kwargs = dict(kwargs)


def autotune(configs: Sequence[Config], *_: Any, **__: Any) -> Callable[[Kernel], Kernel]:
    """Return a decorator that gives a kernel the arguments of the first configuration: all give the same."""

    def decorate(kernel: Kernel) -> Kernel:
        kernel.chosen = dict(configs[0].kwargs) if configs else {}
        return kernel

    return decorate


def heuristics(values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Kernel], Kernel]:
    """Return a decorator that computes arguments of a kernel from the others."""

    def decorate(kernel: Kernel) -> Kernel:
        kernel.computed = dict(values)
        return kernel

    return decorate


language = _module(
    "triton.language",
    "The part of Triton's language that kernels of katas need.",
    **DTYPES,
    **{"constexpr": constexpr, "program_id": program_id, "num_programs": num_programs, "arange": arange},
    **{"zeros": zeros, "full": full, "load": load, "store": store, "atomic_add": atomic_add},
    **METHODS,
    math=_module("triton.language.math", "Functions of numbers.", **OF_NUMBERS),
    **{"where": where, "maximum": maximum, "minimum": minimum, "dot": dot, "join": join},
    **{"zeros_like": zeros_like, "clamp": clamp},
    **{"interleave": interleave, "cdiv": cdiv, "static_assert": static_assert},
    **{"range": counted_range, "static_range": static_range},
    **{"multiple_of": as_it_is, "max_contiguous": as_it_is, "max_constancy": as_it_is},
    **{"assume": assume, "device_assert": nothing, "debug_barrier": nothing},
    **{"make_block_ptr": make_block_ptr, "advance": advance},
)
triton = _module(
    "triton",
    "The part of Triton that kernels of katas need.",
    **{"jit": jit, "autotune": autotune, "heuristics": heuristics, "Config": Config},
    cdiv=cdiv,
    next_power_of_2=next_power_of_2,
    language=language,
)
Kernel.builtins = BUILTINS
Kernel.language = (
    triton,
    *(one for module in (triton, language, language.math) for one in vars(module).values()),
)
