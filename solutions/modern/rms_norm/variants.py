"""Right answers to rms_norm in other styles."""

import math

import numpy as np


def multiplies_by_the_inverse_root(x, gamma, eps=1e-6):
    """The reciprocal of the root, as a power; gamma folded into it."""
    return x * (gamma * (np.mean(np.square(x), -1)[..., None] + eps) ** -0.5)


def loops_over_rows(x, gamma, eps=1e-6):
    """Row by row and number by number, in Python's own floats."""
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty(rows.shape, dtype=x.dtype)
    for index, row in enumerate(rows.tolist()):
        root = math.sqrt(math.fsum(value * value for value in row) / len(row) + eps)
        result[index] = [g * value / root for g, value in zip(gamma.tolist(), row, strict=True)]
    return result.reshape(x.shape)


def sums_by_einsum(x, gamma, eps=1e-6):
    """A dot product of each row with itself."""
    squares = np.einsum("...d,...d->...", x, x)[..., np.newaxis]
    return np.multiply(x / np.sqrt(squares / x.shape[-1] + eps), gamma)


def takes_the_norm_of_the_library(x, gamma, eps=1e-6):
    """Another way: the root mean square is a row's length over the root of d_model.

    The library's length of a vector, squared again; float64 inside.
    """
    wide = x.astype(np.float64)
    mean_square = np.linalg.norm(wide, axis=-1, keepdims=True) ** 2 / x.shape[-1]
    return (gamma * (wide / np.sqrt(mean_square + eps))).astype(x.dtype)


def works_on_one_copy(x, gamma, eps=1e-6):
    """In place, on a copy in Fortran order."""
    result = np.array(x, order="F")
    result /= np.sqrt(np.average(x * x, axis=x.ndim - 1)[..., None] + x.dtype.type(eps))
    result *= gamma
    return result


def turns_the_features_to_the_front(x, gamma, eps=1e-6):
    """The transpose, so that broadcasting needs no kept axis."""
    columns = x.T
    return (columns / np.sqrt((columns * columns).sum(axis=0) / len(columns) + eps)).T * gamma
