"""Right answers in other styles."""

import math

import numpy as np


def through_mean_and_variance(dy, x, gamma, eps=1e-5):
    """Another way: follow the computation step by step, and add up the three ways by which x acts.

    One gradient for each intermediate of the forward pass.
    """
    width = x.shape[-1]
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    root = np.sqrt(variance + eps)
    dnormal = dy * gamma
    dvariance = np.sum(dnormal * centred, axis=-1, keepdims=True) * -0.5 / root**3
    dcentred = dnormal / root + dvariance * 2 * centred / width
    dmean = -np.sum(dcentred, axis=-1, keepdims=True)
    flat, normal = dy.reshape(-1, width), (centred / root).reshape(-1, width)
    return dcentred + dmean / width, np.sum(flat * normal, 0), np.sum(flat, 0)


def loops_over_rows(dy, x, gamma, eps=1e-5):
    """Row by row in Python's own floats; a list comes back."""
    width = x.shape[-1]
    dx, dgamma, dbeta = np.empty(x.shape, x.dtype), [0.0] * width, [0.0] * width
    for at in np.ndindex(x.shape[:-1]):
        row, up = x[at].tolist(), dy[at].tolist()
        mean = math.fsum(row) / width
        root = math.sqrt(math.fsum((value - mean) ** 2 for value in row) / width + eps)
        normal = [(value - mean) / root for value in row]
        inner = [u * float(g) for u, g in zip(up, gamma, strict=True)]
        average = sum(inner) / width
        along = sum(i * n for i, n in zip(inner, normal, strict=True)) / width
        for j in range(width):
            dx[(*at, j)] = (inner[j] - average - normal[j] * along) / root
            dgamma[j] += up[j] * normal[j]
            dbeta[j] += up[j]
    return [dx, np.array(dgamma, dtype=x.dtype), np.array(dbeta, dtype=x.dtype)]


def by_the_jacobian(dy, x, gamma, eps=1e-5):
    """The whole Jacobian of each row, [d_model, d_model], in float64."""
    wide, width = x.astype(np.float64), x.shape[-1]
    centring = np.eye(width) - 1 / width
    centred = wide @ centring
    rstd = (np.einsum("...d,...d->...", centred, centred) / width + eps) ** -0.5
    normal = centred * rstd[..., None]
    outer = np.eye(width) - normal[..., :, None] * normal[..., None, :] / width
    jacobian = rstd[..., None, None] * (outer @ centring)
    dx = np.einsum("...j,...jk->...k", dy * gamma, jacobian)
    dgamma = np.einsum("nd,nd->d", dy.reshape(-1, width), normal.reshape(-1, width))
    dbeta = np.ones(dy.size // width) @ dy.reshape(-1, width)
    return dx.astype(x.dtype), dgamma.astype(x.dtype), dbeta.astype(x.dtype)


def projects_on_a_flat_batch(dy, x, gamma, eps=1e-5):
    """All rows joined to [N, d_model]; the sum over rows by a product; sums divided once at the end."""
    up, flat, width = dy.reshape(-1, x.shape[-1]), x.reshape(-1, x.shape[-1]), x.shape[-1]
    std = np.sqrt(flat.var(axis=1) + x.dtype.type(eps))[:, None]
    normal = (flat - flat.mean(axis=1)[:, None]) / std
    inner = gamma[None] * up
    dx = width * inner - inner.sum(1)[:, None] - normal * (inner * normal).sum(1)[:, None]
    return (dx / (width * std)).reshape(x.shape), np.einsum("nd,nd->d", up, normal), up.sum(0)


def folds_gamma_late(dy, x, gamma, eps=1e-5):
    """Averages as products with vectors, over the features in front."""
    axes = range(1, x.ndim)
    u, z = np.moveaxis(dy, -1, 0), np.moveaxis(x, -1, 0)
    z = z - np.average(z, axis=0)
    r = (np.average(z * z, axis=0) + eps) ** -0.5
    z = z * r
    weights = gamma / x.dtype.type(len(gamma))
    mean, along = np.tensordot(weights, u, axes=1), np.tensordot(weights, u * z, axes=1)
    dx = r * (gamma.reshape(-1, *(1 for _ in axes)) * u - mean - z * along)
    return np.moveaxis(dx, 0, -1), (u * z).sum(axis=tuple(axes)), u.sum(axis=tuple(axes))
