"""Functions for numbers, NumPy arrays and PyTorch tensors alike, and for trees of them.

A tree is a nesting of dicts, lists and tuples; its leaves are all other values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

MOST_LEAVES, MOST_ENTRIES = 1_000, 2**14  # that `distinct_values` looks at


def to_numpy(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a number, array or tensor as a NumPy array (bfloat16 as float32); None for other values."""
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
    """Return the name of the dtype, such as `float32`; the name of the type for values without a dtype."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return _dtype_text(dtype)
    return str(dtype).removeprefix("torch.") if dtype is not None else type(value).__name__


@functools.cache
def _dtype_text(dtype: np.dtype[Any]) -> str:
    return str(dtype)  # cached, because this takes NumPy longer than comparing a small array


def leaves(tree: Any) -> Iterator[Any]:
    """Yield what the dicts, lists and tuples of a tree hold, in their order."""
    if isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(part)
    else:
        yield tree


def in_leaves(change: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree of the same structure in which `change` was applied to every leaf."""
    if isinstance(tree, dict):
        return {key: in_leaves(change, item) for key, item in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(in_leaves(change, item) for item in tree)
    return change(tree)


def contiguous(tree: Any) -> Any:
    """Return the tree with every array and tensor copied to C order if it is not contiguous."""
    return in_leaves(_contiguous, tree)


def _contiguous(value: Any) -> Any:
    if is_contiguous(value):
        return value
    return value.contiguous() if hasattr(value, "contiguous") else value.copy("C")


def is_contiguous(tree: Any) -> bool:
    """Return whether every array and tensor in the tree is contiguous in C order."""
    return all(map(_is_contiguous, leaves(tree)))


def _is_contiguous(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.flags.c_contiguous)
    is_tensor = type(value).__module__ == "torch" and hasattr(value, "is_contiguous")
    return not is_tensor or bool(value.is_contiguous())


def largest(tree: Any) -> float:
    """Return the largest absolute value of the finite numbers in the tree; 0 if there are none."""
    return max(map(_largest, leaves(tree)), default=0.0)


def _largest(value: Any) -> float:
    array = to_numpy(value)
    if array is None or array.dtype.kind not in "fiu":
        return 0.0
    return float(np.max(np.abs(array[np.isfinite(array)].astype(np.float64)), initial=0.0))


def holds_arrays(tree: Any) -> bool:
    """Return whether the tree contains an array or a tensor."""
    return any(hasattr(leaf, "shape") for leaf in leaves(tree))


def terms_of(case: Any) -> int:
    """Return the length of the longest axis in the tree: no sum over one axis has more terms."""
    return max((int(n) for leaf in leaves(case) for n in getattr(leaf, "shape", ())), default=1) or 1


def float_dtype(tree: Any) -> str | None:
    """Return the name of the first float dtype in the tree; None if there is none."""
    names = map(dtype_name, leaves(tree))
    return next((name for name in names if "float" in name and name != "float"), None)


def distinct_values(tree: object) -> set[object]:
    """Return distinct values of the tree as text, at least three if it has as many. -0.0 counts as 0.0. Only
    the first leaves are read, and evenly spaced entries of a large array."""
    values: set[object] = set()
    for leaf in islice(leaves(tree), MOST_LEAVES):
        values |= _values_of_leaf(leaf)
        if len(values) > 2:
            break
    return values


def _values_of_leaf(leaf: object) -> set[object]:
    array = to_numpy(leaf)
    if array is None:
        return {repr(leaf)}
    entries = array.reshape(-1)[:: 1 + array.size // MOST_ENTRIES]
    return {repr(value + 0) for value in np.unique(entries)[:3].tolist()}
