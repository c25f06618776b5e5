"""Right answers in other styles."""

import math

import numpy as np


def calls_mean_and_var(x, gamma, beta, eps=1e-5):
    """NumPy's own mean and var; the standard deviation named before the division."""
    mean = np.mean(x, axis=-1, keepdims=True)
    std = np.sqrt(np.var(x, axis=-1, keepdims=True) + eps)
    return (x - mean) / std * gamma + beta


def loops_over_rows(x, gamma, beta, eps=1e-5):
    """Row by row and number by number, in Python's own floats."""
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty(rows.shape, dtype=x.dtype)
    for index, row in enumerate(rows.tolist()):
        mean = sum(row) / len(row)
        std = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + eps)
        for j, value in enumerate(row):
            result[index, j] = gamma[j] * ((value - mean) / std) + beta[j]
    return result.reshape(x.shape)


def works_on_one_copy(x, gamma, beta, eps=1e-5):
    """In place, on a copy."""
    result = np.array(x)
    result -= result.mean(-1)[..., None]
    result /= np.sqrt(np.square(result).mean(-1)[..., None] + eps)
    result *= gamma
    result += beta
    return result


def multiplies_by_a_centring_matrix(x, gamma, beta, eps=1e-5):
    """Another way: subtract the mean by a product with one matrix for all rows.

    Centring as a matrix product, the squares summed by einsum; float64 inside.
    """
    d_model = x.shape[-1]
    centred = x.astype(np.float64) @ (np.eye(d_model) - 1 / d_model)
    variance = np.einsum("...d,...d->...", centred, centred) / d_model
    return (gamma * centred * (variance + eps)[..., None] ** -0.5 + beta).astype(x.dtype)


def subtracts_squares_in_float64(x, gamma, beta, eps=1e-5):
    """E[x^2] - E[x]^2 with digits to spare: widened at the door, cast back at the end."""
    wide = x.astype(np.float64)
    mean = wide.mean(axis=-1, keepdims=True)
    variance = np.maximum((wide * wide).mean(axis=-1, keepdims=True) - mean * mean, 0)
    return np.asarray((wide - mean) / np.sqrt(variance + eps) * gamma + beta, dtype=x.dtype)


def moves_the_features_to_the_front(x, gamma, beta, eps=1e-5):
    """The transpose, so that broadcasting needs no keepdims; gamma folded into the divisor; a view."""
    columns = x.T
    centred = columns - columns.sum(axis=0) / x.dtype.type(len(columns))
    spread = np.sqrt(np.average(centred**2, axis=0) + x.dtype.type(eps))
    return np.add((centred / spread).T * gamma, beta, order="F")


def updates_a_running_mean(x, gamma, beta, eps=1e-5):
    """Welford's single pass over the features, all rows at once."""
    mean, squares = np.zeros(x.shape[:-1], dtype=x.dtype), np.zeros(x.shape[:-1], dtype=x.dtype)
    for count in range(x.shape[-1]):
        value = x[..., count]
        before = value - mean
        mean = mean + before / (count + 1)
        squares = squares + before * (value - mean)
    rstd = (squares / x.shape[-1] + eps) ** -0.5
    return (x - mean[..., None]) * rstd[..., None] * gamma + beta
