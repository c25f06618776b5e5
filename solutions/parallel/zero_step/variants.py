"""Right answers to zero_step in other styles."""

import math

import numpy as np


def as_pytorch_does(
    parameter, gradient, m, v, step, rank, size, lr, betas, eps, weight_decay, reduce_scatter, all_gather
):
    """On copies, in place: the decay first, both corrections folded into numbers."""
    length = m.size
    flat = np.zeros((size, length), gradient.dtype)
    flat.reshape(-1)[: gradient.size] = gradient
    mean = reduce_scatter(flat)[0]
    mean *= 1 / size
    flat.reshape(-1)[: parameter.size] = parameter
    part, m, v = flat[rank].copy(), m.copy(), v.copy()
    part *= 1 - lr * weight_decay
    m += (mean - m) * (1 - betas[0])
    v *= betas[1]
    v += (1 - betas[1]) * mean * mean
    part -= lr / (1 - betas[0] ** step) * m / (np.sqrt(v) / math.sqrt(1 - betas[1] ** step) + eps)
    return np.array(all_gather(part)).ravel()[: parameter.size], m, v


def entry_by_entry(
    parameter, gradient, m, v, step, rank, size, lr, betas, eps, weight_decay, reduce_scatter, all_gather
):
    """A loop over the rank's entries, in Python's floats; padding is passed over."""
    length, total = len(m), len(parameter)
    padded = np.concatenate([gradient, np.zeros(length * size - total, gradient.dtype)])
    mine = reduce_scatter(padded / size)
    new, new_m, new_v = np.zeros_like(m), np.zeros_like(m), np.zeros_like(v)
    for i in range(length):
        at = rank * length + i
        if at >= total:
            break
        p, g = float(parameter[at]), float(mine[i])
        new_m[i] = betas[0] * float(m[i]) + (1 - betas[0]) * g
        new_v[i] = betas[1] * float(v[i]) + (1 - betas[1]) * g * g
        root = math.sqrt(new_v[i] / (1 - betas[1] ** step))
        new[i] = p - lr * (new_m[i] / (1 - betas[0] ** step) / (root + eps) + weight_decay * p)
    result = parameter.copy()
    for r, piece in enumerate(all_gather(new)):
        for i, number in enumerate(piece):
            if r * length + i < total:
                result[r * length + i] = number
    return [result, new_m, new_v]


def gathers_without_padding(
    parameter, gradient, m, v, step, rank, size, lr, betas, eps, weight_decay, reduce_scatter, all_gather
):
    """Shards of different lengths travel to the others; padding in m and v stays as it was."""
    n = m.shape[0]
    first, last = min(rank * n, parameter.size), min(rank * n + n, parameter.size)
    g = reduce_scatter(np.resize(np.append(gradient, [0] * (n * size)).astype(gradient.dtype), n * size))
    g = g[: last - first] / size
    old = parameter[first:last]
    own_m = np.multiply(m[: last - first], betas[0]) + np.multiply(g, 1 - betas[0])
    own_v = np.multiply(v[: last - first], betas[1]) + np.multiply(np.square(g), 1 - betas[1])
    quotient = own_m / (1 - betas[0] ** step) / (np.sqrt(own_v / (1 - betas[1] ** step)) + eps)
    pieces = all_gather(old - lr * quotient - lr * weight_decay * old)
    return (
        np.hstack(pieces),
        np.concatenate([own_m, m[last - first :]]),
        np.concatenate([own_v, v[last - first :]]),
    )


def in_float64(
    parameter, gradient, m, v, step, rank, size, lr, betas, eps, weight_decay, reduce_scatter, all_gather
):
    """Widened for the step, in the arguments' dtype on the way."""
    n, kind = len(m), parameter.dtype
    g = np.zeros(n * size, kind)
    p = np.zeros(n * size, np.float64)
    g[: len(gradient)], p[: len(gradient)] = gradient, parameter
    mean = reduce_scatter(g).astype(np.float64) / size
    p = np.split(p, size)[rank]
    m = np.average([m, mean], axis=0, weights=[betas[0], 1 - betas[0]])
    v = betas[1] * v.astype(np.float64) + (1 - betas[1]) * mean**2
    p = p - lr * (m / (1 - betas[0] ** step) / ((v / (1 - betas[1] ** step)) ** 0.5 + eps) + weight_decay * p)
    return np.concatenate(all_gather(p.astype(kind)))[: len(gradient)], m.astype(kind), v.astype(kind)
