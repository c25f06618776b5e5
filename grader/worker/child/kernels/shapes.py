"""The functions of `triton.language` that make blocks, and give them other shapes.

A size is a power of two that is known before the launch, as in Triton.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.worker.child.kernels.blocks import (
    INT32,
    Block,
    DType,
    KernelError,
    as_block,
    shape_of,
)

MOST_LANES = 1 << 13  # entries of one block


def arange(start: int, end: int) -> Block:
    """Return the integers from `start` up to `end`, without `end`. How many they are must be a power of two.
    Raises KernelError."""
    if type(start) is not int or type(end) is not int:
        raise KernelError("arange's arguments must be of type tl.constexpr")
    if end <= start:
        raise KernelError("arange's end argument must be greater than the start argument")
    size = end - start
    if size & (size - 1):
        raise KernelError(f"arange's range must be a power of 2, and {size} is none")
    return Block(np.arange(start, within_limit(size) + start, dtype=np.int32), INT32)


def zeros(shape: Sequence[int], dtype: DType) -> Block:
    """Return a block of zeros."""
    return full(shape, 0, dtype)


def full(shape: Sequence[int], value: Any, dtype: DType) -> Block:
    """Return a block with one number everywhere."""
    sizes = sizes_of(shape)
    return Block(np.broadcast_to(dtype.rounded(as_block(value, dtype).data), sizes), dtype)


def zeros_like(x: Any) -> Block:
    """Return a block of zeros with the shape and the dtype of another one."""
    block = as_block(x)
    return Block(np.zeros_like(block.data), block.dtype)


def trans(x: Any, *order: Any) -> Block:
    """Return a block with its axes in another order; without one, the last two change places."""
    block = as_block(x)
    if not order:
        if len(block.shape) < 2:
            raise KernelError("tl.trans invoked with a 0- or 1-dimensional tensor")
        return Block(block.data.swapaxes(-1, -2), block.dtype)
    return permute(block, *order)


def permute(x: Any, *order: Any) -> Block:
    """Return a block with its axes in another order."""
    block, axes = as_block(x), listed_sizes(order)
    if sorted(axes) != [*range(len(block.shape))]:
        raise KernelError(f"permute dims must be a permutation of 0, 1, ..., n-1, but were {axes}")
    return Block(block.data.transpose(axes), block.dtype)


def join(a: Any, b: Any) -> Block:
    """Return two blocks side by side along a new last axis."""
    left, right = as_block(a), as_block(b)
    if left.dtype is not right.dtype:
        raise KernelError(f"join takes two blocks of one dtype, and {left.dtype} and {right.dtype} are two")
    within_limit(2 * math.prod(shape_of(left.shape, right.shape)))
    return Block(np.stack(np.broadcast_arrays(left.data, right.data), axis=-1), left.dtype)


def interleave(a: Any, b: Any) -> Block:
    """Return the entries of two blocks in turn, along the last axis."""
    joined = join(a, b)
    return Block(joined.data.reshape((*joined.shape[:-2], -1)), joined.dtype)


def split(x: Any) -> tuple[Block, Block]:
    """Return the two blocks that lie side by side along the last axis."""
    block = as_block(x)
    if block.shape[-1:] != (2,):
        raise KernelError(f"expected last dimension to be 2 for split, got {[*block.shape[-1:]]}")
    return Block(block.data[..., 0], block.dtype), Block(block.data[..., 1], block.dtype)


def expand_dims(x: Any, axis: int) -> Block:
    """Return a block with a new axis of length 1."""
    block = as_block(x)
    return Block(np.expand_dims(block.data, axis), block.dtype)


def broadcast_to(x: Any, *shape: Any) -> Block:
    """Return a block that is repeated along its axes of length 1 until it has a shape."""
    block = as_block(x)
    return Block(np.broadcast_to(block.data, sizes_of(listed_sizes(shape))), block.dtype)


def reshape(x: Any, *shape: Any, **_: Any) -> Block:
    """Return the entries of a block in another shape. Raises KernelError if there are more or fewer."""
    block, sizes = as_block(x), sizes_of(listed_sizes(shape))
    if math.prod(sizes) != block.data.size:
        raise KernelError(f"reshape() cannot change total number of elements: {block.data.size} to {sizes}")
    return Block(block.data.reshape(sizes), block.dtype)


def listed_sizes(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return sizes or axes that are given as one tuple, or one by one."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given


def sizes_of(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return a shape as a tuple. Raises KernelError unless its sizes are integers that are known before the
    launch, powers of two, and within the limit of a block."""
    found = tuple(sizes) if isinstance(sizes, list | tuple) else (sizes,)
    for size in found:
        if type(size) is not int:
            raise KernelError("Shape element must have type `constexpr[int]`")
        if size <= 0 or size & (size - 1):
            raise KernelError(f"Shape element must be a power of 2, and {size} is none")
    within_limit(math.prod(found))
    return found


def within_limit(size: int) -> int:
    """Return the number of a block's entries. Raises KernelError if it is above MOST_LANES."""
    if size > MOST_LANES:
        raise KernelError(f"a block has at most {MOST_LANES:,} entries here, and this one {size:,}")
    return size
