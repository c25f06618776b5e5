"""Right answers to debug_masked_attention in other styles."""

import math

import numpy as np


def additive_mask(x, w_q, w_k, w_v):
    """-1e9 is added to the future, as an array of the dtype of x."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    mask = np.triu(np.full((len(x), len(x)), -1e9, dtype=x.dtype), k=1)
    scores = q @ k.T / math.sqrt(q.shape[1]) + mask
    powers = np.exp(scores - scores.max(axis=1)[:, None])
    return powers / powers.sum(axis=1)[:, None] @ v


def token_by_token(x, w_q, w_k, w_v):
    """A loop over queries; each meets only the keys up to itself, so there is no mask."""
    k, v = x @ w_k, x @ w_v
    output = np.zeros((len(x), w_v.shape[1]), dtype=x.dtype)
    for i, token in enumerate(x):
        scores = k[: i + 1] @ (token @ w_q) * w_k.shape[1] ** -0.5
        weights = np.exp(scores - max(scores))
        output[i] = weights @ v[: i + 1] / sum(weights)
    return output


def scales_the_queries(x, w_q, w_k, w_v):
    """The scale is taken out of w_q before anything else; einsum, and the lowest float as mask."""
    q = np.einsum("td,dk->tk", x, w_q / float(np.sqrt(w_q.shape[1])))
    scores = np.einsum("qk,sk->qs", q, x @ w_k)
    seen = np.tril(np.ones_like(scores)) == 1
    scores[~seen] = np.finfo(scores.dtype).min
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return np.einsum("qs,sv->qv", scores, x @ w_v)


def divides_at_the_end(x, w_q, w_k, w_v):
    """Values are mixed with the powers, and divided by their sums afterwards; the mask is 0 and 1."""
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_k.shape[1], dtype=x.dtype)
    scores = np.where(np.tri(len(x)) > 0, scores, np.finfo(x.dtype).min)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * np.tri(len(x), dtype=x.dtype)
    return powers @ (x @ w_v) / powers.sum(axis=-1, keepdims=True)


def in_float64(x, w_q, w_k, w_v):
    """Wider inside, with an index comparison as mask, and cast back."""
    q, k, v = (x.astype(np.float64) @ w for w in (w_q, w_k, w_v))
    at = np.arange(len(x))
    scores = np.where(at[:, None] >= at[None, :], q.dot(k.T) / np.sqrt(k.shape[-1]), -np.inf)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))
    return (weights @ v).astype(x.dtype)
