"""Arrays that a short expression makes: those of a seeded generator, those of one repeated number, and
identity matrices.

A seeded array holds `np.random.default_rng(seed).standard_normal(shape).round(1)`, in any float dtype.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from grader.values.arrays import dtype_name, is_contiguous, to_numpy
from grader.values.exchange import AS_IT_IS, ArrayExchange

SEEDS = 128
FEWEST_SEEDED = 4  # entries of an array that is recognised as a seeded one
FEW = 24  # entries up to which an array of one number is written out
DIGITS = 1


def seeded(value: Any, seed: int) -> Any:
    """Return a seeded array or tensor of the shape and the float dtype of this one."""
    drawn = _drawn(seed, tuple(value.shape))
    if isinstance(value, np.ndarray):
        return drawn.astype(value.dtype)
    import torch

    return torch.from_numpy(drawn).to(value.dtype)


def seed_of(value: Any) -> int | None:
    """Return the seed of an array that is a seeded one, in C order in memory; None for any other value."""
    array = to_numpy(value) if hasattr(value, "shape") else None
    if array is None or array.dtype.kind != "f" or array.size < FEWEST_SEEDED or not is_contiguous(value):
        return None
    first = array.reshape(-1)[:FEWEST_SEEDED].astype(np.float64).round(DIGITS)
    seed = _seeds().get(first.tobytes())
    if seed is None:
        return None
    drawn = _drawn(seed, array.shape)
    if dtype_name(value) == "bfloat16":
        return seed if bool((seeded(value, seed) == value).all()) else None
    return seed if np.array_equal(drawn.astype(array.dtype), array) else None


def expression_of(value: Any, exchange: ArrayExchange = AS_IT_IS) -> str | None:
    """Return a short expression for an array as the submission has it; None if there is none."""
    seed = seed_of(value)
    is_tensor = exchange.has_tensor(value)
    name = dtype_name(value)
    if seed is not None:
        drawn = f"np.random.default_rng({seed}).standard_normal({tuple(value.shape)}).round({DIGITS})"
        if is_tensor:
            casts = {"float64": "", "float32": ".float()"}
            return f"torch.tensor({drawn}){casts.get(name, f'.to(torch.{name})')}"
        return drawn if name == "float64" else f"{drawn}.astype(np.{name})"
    array = to_numpy(value) if hasattr(value, "shape") else None
    if array is None or array.size <= FEW or array.dtype.kind not in "fiub" or not is_contiguous(value):
        return None
    library = "torch" if is_tensor else "np"
    number = array.reshape(-1)[0]
    if not np.isfinite(number) or not (array == number).all() or np.signbit(array).any():
        return None
    plain = float(str(number)) if array.dtype.kind == "f" else number.item()
    return f"{library}.full({tuple(value.shape)}, {plain!r}, dtype={library}.{name})"


def identity_of(value: Any, exchange: ArrayExchange = AS_IT_IS) -> str | None:
    """Return an expression for an identity matrix of a float dtype; None for any other value."""
    array = to_numpy(value) if hasattr(value, "shape") else None
    if array is None or array.dtype.kind != "f" or array.ndim != 2 or not is_contiguous(value):
        return None
    rows = len(array)
    if rows < 2 or array.shape != (rows, rows) or np.signbit(array).any() or (array != np.eye(rows)).any():
        return None
    library = "torch" if exchange.has_tensor(value) else "np"
    return f"{library}.eye({rows}, dtype={library}.{dtype_name(value)})"


def _drawn(seed: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    drawn = np.random.default_rng(seed).standard_normal(shape).round(DIGITS)
    return np.asarray(drawn)  # without axes NumPy draws a number


@cache
def _seeds() -> dict[bytes, int]:
    """Return the seeds by the first entries of what they make."""
    return {_drawn(seed, (FEWEST_SEEDED,)).tobytes(): seed for seed in range(SEEDS)}
