"""Hypothesis strategies for arrays, tensors, shapes and dtypes.

Every strategy of `hypothesis.strategies` is available here too, such as `st.integers(1, 4)`; Hypothesis is
imported when the first strategy is created. Arrays are of two kinds. Hypothesis draws the elements of small
arrays one by one, so that a failing case shrinks to something that a person can read. Such arrays consist
mostly of zeros, for which attention without its scale gives the right answer, so others hold normally
distributed numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "arrays",
    "float_dtypes",
    "integer_dtypes",
    "normal_arrays",
    "permuted",
    "readable_arrays",
    "shapes",
    "tensors",
]

Strategy = Any  # hypothesis.strategies.SearchStrategy; Hypothesis is not imported here

READABLE_SIZE = 24  # the largest number of elements that Hypothesis draws one by one


def __getattr__(name: str) -> Any:
    """Return the strategy of this name from `hypothesis.strategies`.

    Args:
        name: The name, which this module does not define.

    Returns:
        The function of Hypothesis.

    Raises:
        AttributeError: If Hypothesis has no such strategy.
    """
    if name.startswith("_"):  # what help() asks for, such as __path__, is not Hypothesis's
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_st(), name)


def __dir__() -> list[str]:
    """Return the names of all strategies, with those of Hypothesis.

    Returns:
        The names in order.
    """
    return sorted({*__all__, *_st().__all__})


def _st() -> Any:
    import hypothesis.strategies

    return hypothesis.strategies


def float_dtypes() -> Strategy:
    """Return a strategy for the names of float dtypes: float32 and float64.

    Returns:
        The strategy.

    Example:
        dtype = draw(st.float_dtypes())
    """
    return _st().sampled_from(["float32", "float64"])


def integer_dtypes() -> Strategy:
    """Return a strategy for the names of the integer dtypes that token ids may have.

    Returns:
        The strategy.

    Example:
        ids = np.array([0, 2, 1], dtype=draw(st.integer_dtypes()))
    """
    return _st().sampled_from(["int64", "int32", "uint8"])


def readable_arrays(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Strategy:
    """Return a strategy for arrays of the numbers -2, -1.75, …, 2 times `scale`, which are easy to read.

    Args:
        shape: The shape of the arrays.
        dtype: The name of their dtype.
        scale: What each number is multiplied by.

    Returns:
        The strategy. Hypothesis draws and shrinks each element by itself.

    Example:
        x = draw(st.readable_arrays((2, 3), "float32"))
    """
    size = int(np.prod(shape))
    quarters = _st().lists(_st().integers(-8, 8), min_size=size, max_size=size)
    return quarters.map(lambda drawn: (np.array(drawn) * (scale / 4)).astype(dtype).reshape(shape))


def normal_arrays(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Strategy:
    """Return a strategy for arrays of normally distributed numbers.

    Args:
        shape: The shape of the arrays.
        dtype: The name of their dtype.
        scale: The standard deviation of the numbers.

    Returns:
        The strategy. Hypothesis draws the seed of the random numbers.

    Example:
        weight = draw(st.normal_arrays((d_model, d_ff), "float32", scale=0.1))
    """

    def draw(seed: int) -> np.ndarray[Any, Any]:
        return np.asarray(np.random.default_rng(seed).standard_normal(shape) * scale, dtype)

    return _st().integers(0, 2**16).map(draw)


def arrays(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Strategy:
    """Return a strategy for arrays of either kind: readable or normal if they are small, normal if large.

    Args:
        shape: The shape of the arrays.
        dtype: The name of their dtype.
        scale: What each number is multiplied by.

    Returns:
        The strategy.

    Example:
        x = draw(st.arrays(draw(st.shapes(3)), draw(st.float_dtypes())))
    """
    if int(np.prod(shape)) > READABLE_SIZE:
        return normal_arrays(shape, dtype, scale)
    return _st().one_of(readable_arrays(shape, dtype, scale), normal_arrays(shape, dtype, scale))


def permuted(arrays: Strategy) -> Strategy:
    """Return a strategy for arrays whose axes have a random order in memory.

    Args:
        arrays: A strategy for arrays.

    Returns:
        A strategy for arrays of the same values and shapes, some of which are not contiguous.

    Example:
        x = draw(st.permuted(st.arrays((2, 3, 4), "float32")))
    """
    return _st().tuples(arrays, _st().randoms(use_true_random=False)).map(lambda pair: _permute(*pair))


def _permute(array: np.ndarray[Any, Any], random: Any) -> np.ndarray[Any, Any]:
    order = list(range(array.ndim))
    random.shuffle(order)
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


def shapes(dims: int, longest: int = 5) -> Strategy:
    """Return a strategy for shapes.

    Args:
        dims: The number of axes.
        longest: The largest length of an axis; the smallest is 1.

    Returns:
        A strategy for tuples of integers.

    Example:
        batch, tokens = draw(st.shapes(2))
    """
    return _st().tuples(*[_st().integers(1, longest)] * dims)


def tensors(arrays: Strategy) -> Strategy:
    """Return a strategy for PyTorch tensors.

    Args:
        arrays: A strategy for NumPy arrays.

    Returns:
        A strategy for tensors with the values and the strides of the arrays.

    Example:
        x = draw(st.tensors(st.permuted(st.arrays((2, 3), "float32"))))
    """
    import torch

    return arrays.map(lambda array: torch.from_numpy(array))
