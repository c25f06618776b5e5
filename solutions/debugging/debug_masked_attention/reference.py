"""Single-head causal attention: a softmax a query, scores over the root of the key width."""

import numpy as np


def masked_attention(x, w_q, w_k, w_v):
    """Every token mixes the values of the tokens up to itself."""
    tokens, d_k = len(x), w_k.shape[-1]
    q, k, v = x @ w_q, x @ w_k, x @ w_v  # [T, d_k], [T, d_k], [T, d_v]
    scores = q @ k.T / d_k**0.5  # [T, T]
    future = np.triu(np.ones((tokens, tokens), dtype=bool), k=1)  # [T, T]
    scores = np.where(future, -np.inf, scores)  # [T, T]
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))  # [T, T]
    weights = powers / powers.sum(axis=-1, keepdims=True)  # [T, T], each row sums to 1
    return weights @ v  # [T, d_v]
