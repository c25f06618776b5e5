"""The loops of a kernel. What a loop carries keeps its type, as in Triton."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grader.worker.child.kernels.blocks import INT32, Block, KernelError, as_block
from grader.worker.child.kernels.launching import Pointer


def counted_range(*given: Any, **_: Any) -> Iterator[Any]:
    """Stand for `range` in a kernel, where the ends may be blocks of one number. Raises KernelError, as
    Triton does, if the body of the loop gives a variable from before the loop another dtype or shape."""
    ends = [int(as_block(end).data) for end in given]
    kernel = sys._getframe(1)
    before = _types(kernel.f_locals)
    for number in range(*ends):
        block = Block(np.int32(number), INT32)
        yield block
        after = _types({name: value for name, value in kernel.f_locals.items() if value is not block})
        for name in before.keys() & after.keys():
            if before[name] != after[name]:
                raise KernelError(
                    f"Loop-carried variable {name} has initial type {_typed(before[name])} but is re-assigned"
                    f" to {_typed(after[name])} in loop! Please make sure that the type stays consistent."
                )
        before = after


def _types(variables: Mapping[str, Any]) -> dict[str, tuple[str, str, tuple[int, ...]]]:
    """Return dtype and shape of the numbers, blocks and pointers among a kernel's variables."""
    found = {}
    for name, value in variables.items():
        if isinstance(value, Pointer):
            found[name] = "pointer to ", value.array.type_name, value.shape
        elif isinstance(value, Block | bool | int | float):
            block = value if isinstance(value, Block) else as_block(value)
            found[name] = "", block.dtype.name, block.shape
    return found


def _typed(found: tuple[str, str, tuple[int, ...]]) -> str:
    """Return dtype and shape of a variable as a message has them."""
    kind, dtype, shape = found
    return f"{kind}{dtype}{list(shape)}"


def static_range(*given: Any) -> Iterator[int]:
    """Yield integers that are known before the launch."""
    if any(isinstance(end, Block) for end in given):
        raise KernelError("tl.static_range takes tl.constexpr alone; use range")
    yield from range(*given)
