"""Strategies in the field's words. Hypothesis is imported when the first one is drawn, not before.

Every strategy of `hypothesis.strategies` is reachable here too: `st.integers(1, 4)`.
The cunning of a kata is in its inputs, so arrays come from two wells: small ones whose elements
Hypothesis draws (they shrink to something a person can read), and ones from a seeded normal
distribution (element-wise draws are mostly zeros, and let an attention without its scale pass).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Strategy = Any  # hypothesis.strategies.SearchStrategy, which is not imported here

READABLE_SIZE = 24  # elements up to which Hypothesis draws each one by itself


def __getattr__(name: str) -> Any:
    import hypothesis.strategies

    return getattr(hypothesis.strategies, name)


def _st() -> Any:
    import hypothesis.strategies

    return hypothesis.strategies


def float_dtypes() -> Strategy:
    """float32 or float64, as a name."""
    return _st().sampled_from(["float32", "float64"])


def integer_dtypes() -> Strategy:
    """The integer dtypes that ids come in, as a name."""
    return _st().sampled_from(["int64", "int32", "uint8"])


def readable_arrays(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Strategy:
    """Arrays of quarters in [-2, 2] times `scale`: each element is drawn, and shrinks, by itself."""
    size = int(np.prod(shape))
    quarters = _st().lists(_st().integers(-8, 8), min_size=size, max_size=size)
    return quarters.map(lambda drawn: (np.array(drawn) * (scale / 4)).astype(dtype).reshape(shape))


def normal_arrays(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Strategy:
    """Arrays of normal numbers times `scale`, from a seed that Hypothesis draws."""

    def draw(seed: int) -> np.ndarray[Any, Any]:
        return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)

    return _st().integers(0, 2**16).map(draw)


def arrays(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Strategy:
    """Either well: small arrays are mostly readable ones, larger ones normal."""
    if int(np.prod(shape)) > READABLE_SIZE:
        return normal_arrays(shape, dtype, scale)
    return _st().one_of(readable_arrays(shape, dtype, scale), normal_arrays(shape, dtype, scale))


def permuted(arrays: Strategy) -> Strategy:
    """The same values, with memory laid out in an order of axes that Hypothesis draws."""
    return _st().tuples(arrays, _st().randoms(use_true_random=False)).map(lambda pair: _relaid(*pair))


def _relaid(array: np.ndarray[Any, Any], random: Any) -> np.ndarray[Any, Any]:
    order = list(range(array.ndim))
    random.shuffle(order)
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


def shapes(dims: int, longest: int = 5) -> Strategy:
    """Tuples of `dims` axis lengths, each 1 to `longest`."""
    return _st().tuples(*[_st().integers(1, longest)] * dims)


def tensors(arrays: Strategy) -> Strategy:
    """NumPy arrays as PyTorch tensors; strides are kept, so non-contiguous ones occur."""
    import torch

    return arrays.map(lambda array: torch.from_numpy(array))
