"""What a launcher knows of an array on a device: its name, dtype, shape and strides, and no number of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def stored(dtype: str) -> str:
    """Return the dtype in which NumPy keeps numbers of a dtype."""
    return "float32" if dtype == "bfloat16" else dtype


def _unreachable(*_: Any) -> Any:
    raise RuntimeError("an outline alone reaches no array")


@dataclass(eq=False)
class ArrayOutline:
    """An array that lies on a device. Its methods are those of PyTorch's tensors; strides count entries."""

    name: str
    type_name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    #: Loads and stores; a launcher's array and the grader's own have it.
    access: Callable[..., Any] = field(default=_unreachable, repr=False)
    #: The first numbers of one of the grader's own; None if nobody has written any.
    given: Any = field(default=None, repr=False)

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.type_name

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def state(self) -> dict[str, Any]:
        """Return what kernels have left in the array, and moved; nothing for an outline."""
        return {}

    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        """Return by how many entries neighbours along an axis are apart, or that of all axes."""
        return self.strides if axis is None else self.strides[axis]

    def size(self, axis: int | None = None) -> int | tuple[int, ...]:
        """Return the length of an axis, or those of all axes."""
        return self.shape if axis is None else self.shape[axis]

    def is_contiguous(self) -> bool:
        """Return whether the entries follow each other in memory, row by row."""
        due = [math.prod(self.shape[axis + 1 :]) for axis in range(self.ndim)]
        return all(
            size == 1 or step == one for size, step, one in zip(self.shape, self.strides, due, strict=True)
        )

    def numel(self) -> int:
        """Return the number of entries."""
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Return the bytes of one entry on a GPU."""
        bits = "".join(filter(str.isdigit, self.type_name))
        return int(bits) // 8 if bits else 1  # a truth value has no number in its name
