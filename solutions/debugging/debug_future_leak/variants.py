"""Right answers to debug_future_leak in other styles."""

import numpy as np


def additive_mask(scores):
    """-1e9 is added to the future, in the dtype of the scores."""
    tokens = scores.shape[-1]
    masked = scores + np.triu(np.full((tokens, tokens), -1e9, dtype=scores.dtype), k=1)
    powers = np.exp(masked - np.max(masked, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def mask_after_exp(scores):
    """The maximum is that of the visible scores, and the powers of the future are set to 0."""
    tokens = scores.shape[-1]
    seen = np.where(np.tri(tokens, dtype=bool), scores, scores[..., :1])
    powers = np.tril(np.exp(np.minimum(scores - seen.max(axis=-1, keepdims=True), 0)))
    return powers / powers.sum(axis=-1, keepdims=True)


def query_by_query(scores):
    """A loop: each query's softmax over the first i + 1 scores, written into zeros."""
    weights = np.zeros_like(scores)
    for i in range(scores.shape[-1]):
        seen = scores[..., i, : i + 1]
        powers = np.exp(seen - seen.max(axis=-1, keepdims=True))
        weights[..., i, : i + 1] = powers / powers.sum(axis=-1, keepdims=True)
    return weights


def in_place_on_a_copy(scores):
    """The lowest float where the key comes later, by indices; float64 inside, cast back."""
    masked = scores.astype(np.float64)
    queries, keys = np.indices(scores.shape[-2:])
    masked[..., queries < keys] = np.finfo(np.float64).min
    masked -= masked.max(axis=-1, keepdims=True)
    np.exp(masked, out=masked)
    masked /= masked.sum(axis=-1, keepdims=True)
    return masked.astype(scores.dtype)


def through_logarithms(scores):
    """exp of the scores minus a running log-sum."""
    running = np.diagonal(np.logaddexp.accumulate(scores, axis=-1), axis1=-2, axis2=-1)
    visible = np.tri(*scores.shape[-2:], dtype=bool)
    return np.exp(np.where(visible, scores - running[..., None], -np.inf))
