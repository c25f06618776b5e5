"""Functions for numbers, NumPy arrays and PyTorch tensors alike, and for trees of them.

A tree is a nesting of dicts, lists and tuples; its leaves are all other values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

MOST_LEAVES, MOST_ENTRIES = 1_000, 2**14  # that `distinct_values` looks at
BRANCHES = (dict, list, tuple)  # what is no leaf


def to_numpy(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a number, array or tensor as a NumPy array (bfloat16 as float32); None for other values, such as
    a tensor on `meta`, which has no entries."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, bool | int | float | np.generic):
        try:
            return np.asarray(value)
        except OverflowError:
            return None
    if type(value).__module__ == "torch" and hasattr(value, "detach") and not value.is_meta:
        tensor = value.detach().cpu()
        return tensor.float().numpy() if dtype_name(value) == "bfloat16" else tensor.numpy()  # type: ignore[no-any-return]  # torch is optional, so untyped here
    return None


def dtype_name(value: Any) -> str:
    """Return the name of the dtype, such as `float32`; the name of the type for values without a dtype."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return _dtype_text(dtype)
    return str(dtype).removeprefix("torch.") if dtype is not None else type(value).__name__


def is_default_integer(have: str, due: str) -> bool:
    """Return whether a dtype is NumPy's default for integers where another machine's is the one expected: in
    a browser `np.arange(3)` is int32, and nothing tells it from one that was made int32."""
    return due == "int64" and have == np.dtype(np.intp).name


@functools.cache
def _dtype_text(dtype: np.dtype[Any]) -> str:
    return str(dtype)  # cached, because this takes NumPy longer than comparing a small array


def leaves(tree: Any) -> Iterator[Any]:
    """Yield what the dicts, lists and tuples of a tree hold, in their order."""
    open_parts = [iter((tree,))]  # no recursion: a list in place of an array has a million numbers
    while open_parts:
        for part in open_parts[-1]:
            if isinstance(part, BRANCHES):
                open_parts.append(iter(part.values() if isinstance(part, dict) else part))
                break
            yield part
        else:
            open_parts.pop()


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


def most_axes(tree: Any) -> tuple[int, int]:
    """Return the number of axes longer than 1 of the array that has most of them, and their entries."""
    shapes = [tuple(leaf.shape) for leaf in leaves(tree) if hasattr(leaf, "shape")]
    return max(((sum(n > 1 for n in shape), math.prod(shape)) for shape in shapes), default=(0, 0))


def laid_out(tree: Any, turn: int) -> Any:
    """Return the tree with the same values, and its arrays and tensors in another memory layout.

    The layouts take turns: the first two axes swapped, gaps between the entries, all axes reversed, and
    every axis backwards, which PyTorch does not have.
    """
    return in_leaves(lambda value: _laid_out(value, turn), tree)


def _laid_out(value: Any, turn: int) -> Any:
    if isinstance(value, np.ndarray):
        return LAYOUTS[turn % len(LAYOUTS)](value)
    if type(value).__module__ != "torch" or not hasattr(value, "numpy") or dtype_name(value) == "bfloat16":
        return value
    import torch

    layout = TENSOR_LAYOUTS[turn % len(TENSOR_LAYOUTS)]
    return torch.from_numpy(layout(value.detach().numpy()))


def _leading_axes_swapped(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.ndim < 2:
        return _with_gaps(array)
    return np.ascontiguousarray(array.swapaxes(0, 1)).swapaxes(0, 1)


def _axes_reversed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array.T).T if array.ndim > 1 else _with_gaps(array)


def _with_gaps(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return every second entry along the last axis of a larger array, without its ends along the others."""
    if not array.ndim:
        return array
    larger = np.ones([n + 2 for n in array.shape[:-1]] + [2 * array.shape[-1] + 1], array.dtype)
    larger[(slice(1, -1),) * (array.ndim - 1) + (slice(1, None, 2),)] = array
    return larger[(slice(1, -1),) * (array.ndim - 1) + (slice(1, None, 2),)]


def _backwards(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(np.flip(array))[(slice(None, None, -1),) * array.ndim]


TENSOR_LAYOUTS = (_leading_axes_swapped, _with_gaps, _axes_reversed)
LAYOUTS = (*TENSOR_LAYOUTS, _backwards)


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


def weight(value: Any) -> tuple[int, float]:
    """Return how hard a value is to read: how many numbers it has, then how large and how uneven they are."""
    if isinstance(value, dict):
        return _total_weight(value.values())
    if isinstance(value, list | tuple):
        return _total_weight(value)
    if type(value).__module__ == "torch":
        value = value.detach().cpu().double().numpy()
    if isinstance(value, np.ndarray):
        finite = np.abs(value[np.isfinite(value)].astype(np.float64))
        uneven = np.count_nonzero(finite % 0.25)
        return value.size, float(np.sum(np.minimum(finite, 1e6))) + 10.0 * uneven
    return 1, float(abs(value)) if isinstance(value, int | float) and abs(value) < 1e9 else 0.0


def _total_weight(values: Any) -> tuple[int, float]:
    weights = [weight(value) for value in values]
    return sum(w[0] for w in weights), sum(w[1] for w in weights)
