"""Weights by exp(scores - logsumexp(scores)); hidden scores are -inf, rows without keys are mended after."""

import numpy as np


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf).astype(q.dtype)
    top = scores.max(-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0).astype(q.dtype)
    total = np.exp(scores - top).sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        logsumexp = top + np.log(total)
    weights = np.where(total > 0, np.exp(scores - np.where(total > 0, logsumexp, 0)), 0).astype(q.dtype)
    return weights @ v, weights
