"""Right answers in other styles."""

import math

import numpy as np


def works_on_one_copy(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """In place, on a copy."""
    powers = np.array(x, dtype=x.dtype if x.dtype.kind == "f" else np.float64)
    powers -= powers.max(axis=axis, keepdims=True)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=axis, keepdims=True)
    return powers


def goes_through_logarithms(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """As exp(log_softmax(x)), on shifted scores."""
    scores = x * 1.0
    scores = scores - np.max(scores, axis, keepdims=True)
    return np.exp(scores - np.log(np.exp(scores).sum(axis, keepdims=True)))


def subtracts_the_log_of_the_sum(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Another way: subtract the logarithm of the sum of exponentials, then take exp.

    exp(x - logsumexp(x)), as in SciPy: large scores lose digits, and no more.
    """
    scores = x if x.dtype.kind == "f" else x.astype(np.float64)
    largest = scores.max(axis=axis, keepdims=True)
    return np.exp(scores - (largest + np.log(np.exp(scores - largest).sum(axis=axis, keepdims=True))))


def loops_over_slices(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Slice by slice, number by number, in Python's own floats."""
    moved = np.moveaxis(x, axis, -1)
    result = np.empty(moved.shape, dtype=x.dtype if x.dtype.kind == "f" else np.float64)
    for index in np.ndindex(moved.shape[:-1]):
        scores = [float(score) for score in moved[index]]
        powers = [math.exp(score - max(scores)) for score in scores]
        result[index] = [power / math.fsum(powers) for power in powers]
    return np.moveaxis(result, -1, axis)


def maps_a_function_along_the_axis(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """np.apply_along_axis with a one-dimensional softmax."""

    def share(scores: np.ndarray) -> np.ndarray:
        powers = np.exp(scores - scores.max())
        return powers / powers.sum()

    return np.apply_along_axis(share, axis, x if x.dtype.kind == "f" else x.astype(float))


def moves_the_axis_to_the_front(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """swapaxes, so that broadcasting needs no keepdims; returns a view."""
    scores = np.swapaxes(x, 0, axis)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    powers = np.exp(scores - scores.max(axis=0))
    return np.swapaxes(powers / powers.sum(axis=0), 0, axis)


def replaces_minus_infinity_by_the_lowest_float(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """The dtype's lowest finite value in place of -inf, and float64 inside."""
    scores = np.asarray(x, dtype=np.float64)
    scores = np.where(np.isneginf(scores), np.finfo(np.float64).min, scores)
    scores = scores - np.expand_dims(np.amax(scores, axis=axis), axis)
    powers = np.exp(scores)
    result = powers / np.expand_dims(np.sum(powers, axis=axis), axis)
    return result.astype(x.dtype) if x.dtype.kind == "f" else result


def compares_every_pair_of_scores(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """1 / sum_j exp(x_j - x_i), which needs no maximum; an overflow to infinity is a probability of 0."""
    scores = np.moveaxis(x if x.dtype.kind == "f" else x.astype(np.float64), axis, -1)
    masked = np.isneginf(scores)
    safe = np.where(masked, 0, scores)
    differences = np.where(masked[..., None, :], -np.inf, safe[..., None, :] - safe[..., :, None])
    with np.errstate(over="ignore"):
        result = 1 / np.exp(differences).sum(axis=-1)
    return np.moveaxis(np.where(masked, 0, result), -1, axis)
