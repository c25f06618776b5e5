"""The queries in groups; weights by exp(scores - logsumexp(scores))."""

import numpy as np


def grouped_query_attention(q, k, v):
    (batch, heads, new, width), groups, total = q.shape, k.shape[1], k.shape[2]
    if heads % groups:
        raise ValueError("the number of groups must divide the number of heads")
    grouped = q.reshape(batch, groups, heads // groups, new, width)
    scores = np.einsum("bgrid,bgjd->bgrij", grouped, k) * q.dtype.type(width**-0.5)
    scores = np.where(np.tri(new, total, total - new, dtype=bool), scores, -np.inf).astype(q.dtype)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - (top + np.log(np.exp(scores - top).sum(-1, keepdims=True))))
    return np.einsum("bgrij,bgjd->bgrid", weights, v).reshape(batch, heads, new, v.shape[-1])
