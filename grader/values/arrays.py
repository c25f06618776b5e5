"""What is asked of numbers, arrays and tensors alike, and of trees of them: values, dtypes, sizes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def to_numpy(value: Any) -> np.ndarray[Any, Any] | None:
    """`value` as a plain NumPy array if it is a number, an array or a tensor; bfloat16 is widened."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, bool | int | float | np.generic):
        try:
            return np.asarray(value)
        except OverflowError:
            return None
    if type(value).__module__ == "torch" and hasattr(value, "detach"):
        tensor = value.detach().cpu()
        return tensor.float().numpy() if dtype_name(value) == "bfloat16" else tensor.numpy()  # type: ignore[no-any-return]  # torch is optional, so untyped here
    return None


def dtype_name(value: Any) -> str:
    """`float32`, `int64`, `bool` … of an array, a tensor or a number; else the type's name."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return _str_of(dtype)
    return str(dtype).removeprefix("torch.") if dtype is not None else type(value).__name__


@functools.cache
def _str_of(dtype: np.dtype[Any]) -> str:
    """NumPy takes longer to find a dtype's name than to compare a small array."""
    return str(dtype)


def in_leaves(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree of dicts, lists and tuples with every leaf changed."""
    if isinstance(tree, dict):
        return {key: in_leaves(change, item) for key, item in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(in_leaves(change, item) for item in tree)
    return change(tree)


def contiguous(tree: Any) -> Any:
    """The same tree with every array and tensor laid out in the usual order of axes."""
    return in_leaves(_contiguous, tree)


def _contiguous(value: Any) -> Any:
    if is_contiguous(value):
        return value
    return value.contiguous() if hasattr(value, "contiguous") else value.copy("C")


def is_contiguous(tree: Any) -> bool:
    """True if no array or tensor in the tree has another order of axes in memory than the usual one."""
    if isinstance(tree, dict | list | tuple):
        return all(map(is_contiguous, tree.values() if isinstance(tree, dict) else tree))
    if isinstance(tree, np.ndarray):
        return bool(tree.flags.c_contiguous)
    return (
        type(tree).__module__ != "torch" or not hasattr(tree, "is_contiguous") or bool(tree.is_contiguous())
    )


def largest(tree: Any) -> float:
    """The largest finite number in a tree of arrays, in size; 0 where there is none."""
    if isinstance(tree, dict | list | tuple):
        return max(map(largest, tree.values() if isinstance(tree, dict) else tree), default=0.0)
    array = to_numpy(tree)
    if array is None or array.dtype.kind not in "fiu":
        return 0.0
    return float(np.max(np.abs(array[np.isfinite(array)].astype(np.float64)), initial=0.0))


def holds_arrays(tree: Any) -> bool:
    """Whether there is an array or a tensor anywhere in the tree."""
    if isinstance(tree, dict | list | tuple):
        return any(map(holds_arrays, tree.values() if isinstance(tree, dict) else tree))
    return hasattr(tree, "shape")


def terms_of(case: Any) -> int:
    """The length of the longest sum that an entry of the case can make: its longest axis."""
    if isinstance(case, dict):
        return max((terms_of(value) for value in case.values()), default=1)
    if isinstance(case, list | tuple):
        return max((terms_of(value) for value in case), default=1)
    return max((int(n) for n in getattr(case, "shape", ())), default=1) or 1


def float_dtype(tree: Any) -> str | None:
    """The dtype of the floats in a tree, which all have one; None where there are none."""
    if isinstance(tree, dict | list | tuple):
        leaves = tree.values() if isinstance(tree, dict) else tree
        return next((dtype for dtype in map(float_dtype, leaves) if dtype), None)
    name = dtype_name(tree)
    return name if "float" in name and name != "float" else None


def distinct_values(tree: object) -> set[object]:
    """Return the values that answers hold; three are enough. NaN is one of them, and -0.0 is 0.0."""
    if isinstance(tree, dict | list | tuple):
        found: set[object] = set()
        for part in tree.values() if isinstance(tree, dict) else tree:
            found |= distinct_values(part)
            if len(found) > 2:
                break
        return found
    array = to_numpy(tree)
    return {repr(tree)} if array is None else {repr(value + 0) for value in np.unique(array)[:3].tolist()}
