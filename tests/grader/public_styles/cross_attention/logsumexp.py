"""Weights by exp(scores - logsumexp(scores))."""

import numpy as np


def cross_attention(x_dec, x_enc, w_q, w_k, w_v):
    q, k, v = x_dec @ w_q, x_enc @ w_k, x_enc @ w_v
    scores = np.einsum("bid,bjd->bij", q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - (top + np.log(np.exp(scores - top).sum(-1, keepdims=True))))
    return weights @ v, weights
