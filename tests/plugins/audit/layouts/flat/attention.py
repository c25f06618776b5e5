"""Scaled dot-product attention.

The weights of a query are the softmax of its scores, and the output is the weighted sum of the values.
"""

import numpy as np


def softmax(x, axis=-1):
    """Return the softmax of x along an axis."""
    x = np.asarray(x)
    if x.size == 0:
        raise ValueError("softmax of nothing")
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def causal_mask(n):
    """Return a mask [n, n]: True where a query may see a key."""
    return np.tril(np.ones((n, n), dtype=bool))


def attention(q, k, v, mask=None):
    """Return softmax(q k^T / sqrt(d)) v, with scores of -inf where the mask is False."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v
