"""Right answers in other styles."""

import math

import numpy as np


def _weights(scores, seen):
    """softmax over the last axis, with -1e9 where nothing is seen and zeros for empty rows."""
    scores = np.where(seen, scores, np.array(-1e9, dtype=scores.dtype))
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * seen
    return powers / np.maximum(powers.sum(axis=-1, keepdims=True), np.finfo(scores.dtype).tiny)


def names_the_axes(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Weights reshaped to [d_model, H, d], then np.einsum throughout."""
    d_model = x_q.shape[-1]
    q = np.einsum("btm,mhd->bhtd", x_q, w_q.reshape(d_model, num_heads, -1))
    k = np.einsum("btm,mhd->bhtd", x_kv, w_k.reshape(d_model, num_heads, -1))
    v = np.einsum("btm,mhd->bhtd", x_kv, w_v.reshape(d_model, num_heads, -1))
    scores = np.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    weights = _weights(scores, np.broadcast_to(True if mask is None else mask, scores.shape))
    heads = np.einsum("bhij,bhjd->bihd", weights, v)
    return np.einsum("bihd,hdm->bim", heads, w_o.reshape(num_heads, -1, d_model))


def loops_over_heads(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Another way: take one head at a time and add up what each gives to the result.

    Head by head, columns by np.split, each one's share of the result added up.
    """
    shape = (x_q.shape[0], num_heads, x_q.shape[1], x_kv.shape[1])
    seen = np.ones(shape, dtype=bool) if mask is None else np.broadcast_to(mask, shape)
    parts = [np.split(w, num_heads, axis=1) for w in (w_q, w_k, w_v)]
    result = np.zeros_like(x_q)
    for head, (a, b, c, d) in enumerate(zip(*parts, np.split(w_o, num_heads), strict=True)):
        scores = (x_q @ a) @ (x_kv @ b).swapaxes(1, 2) * a.shape[1] ** -0.5
        result += _weights(scores, seen[:, head]) @ (x_kv @ c) @ d
    return result


def folds_heads_into_the_batch(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """[B * H, T, d], as in older PyTorch; queries are scaled before the product."""

    def fold(x):
        batch, tokens, width = x.shape
        heads = x.reshape(batch, tokens, num_heads, width // num_heads).swapaxes(1, 2)
        return heads.reshape(batch * num_heads, tokens, -1)

    (batch, queries), keys = x_q.shape[:2], x_kv.shape[1]
    q, k, v = fold(x_q @ w_q), fold(x_kv @ w_k), fold(x_kv @ w_v)
    seen = np.broadcast_to(True if mask is None else mask, (batch, num_heads, queries, keys))
    weights = _weights(q / math.sqrt(q.shape[-1]) @ k.swapaxes(1, 2), seen.reshape(-1, queries, keys))
    heads = (weights @ v).reshape(batch, num_heads, queries, -1)
    return np.concatenate([heads[:, h] for h in range(num_heads)], axis=-1) @ w_o


def loops_over_sequences_in_float64(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """One sequence and one head at a time, float64 inside, cast back at the end."""
    shape = (len(x_q), num_heads, x_q.shape[1], x_kv.shape[1])
    seen = np.broadcast_to(np.True_ if mask is None else mask, shape)
    d_k, d_v = w_q.shape[1] // num_heads, w_v.shape[1] // num_heads
    merged = np.zeros((*x_q.shape[:2], w_v.shape[1]))
    for b, h in np.ndindex(shape[:2]):
        keys, values = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
        q, k = x_q[b].astype(float) @ w_q[:, keys], x_kv[b].astype(float) @ w_k[:, keys]
        merged[b, :, values] = _weights(q @ k.T / np.sqrt(d_k), seen[b, h]) @ (x_kv[b] @ w_v[:, values])
    return (merged @ w_o).astype(x_q.dtype)


def subtracts_the_log_of_the_sum(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Weights as exp(scores - logsumexp(scores)), which loses digits of large scores, and no more."""

    def heads(x, w):
        return (x @ w).reshape(len(x), x.shape[1], num_heads, w.shape[1] // num_heads).swapaxes(1, 2)

    q, k, v = heads(x_q, w_q), heads(x_kv, w_k), heads(x_kv, w_v)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    scores = np.where(seen, scores, np.finfo(scores.dtype).min)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - (largest + np.log(np.exp(scores - largest).sum(axis=-1, keepdims=True))))
    read = (weights * seen) @ v
    return read.swapaxes(1, 2).reshape(*x_q.shape[:2], -1) @ w_o
