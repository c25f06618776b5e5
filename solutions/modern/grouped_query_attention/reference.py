"""Ainslie et al. 2023, section 2.2: the query heads by groups, each group with one head of keys and
values."""

import numpy as np


def grouped_query_attention(q, k, v):
    """Causal attention; the queries are the last positions of the keys."""
    batch, heads, queries, d_head = q.shape
    groups, keys = k.shape[1:3]
    if heads % groups:
        raise ValueError(f"G={groups} heads of keys and values cannot be shared evenly by H={heads}.")
    q = q.reshape(batch, groups, heads // groups, queries, d_head)  # [B, G, H/G, Tq, d_head]
    k, v = k[:, :, None], v[:, :, None]  # [B, G, 1, Tk, d_head], [B, G, 1, Tk, d_v]
    scores = q @ k.swapaxes(-1, -2) / q.dtype.type(d_head) ** 0.5  # [B, G, H/G, Tq, Tk]
    later = np.arange(keys) > np.arange(keys - queries, keys)[:, None]  # [Tq, Tk]
    scores = np.where(later, -np.inf, scores)  # [B, G, H/G, Tq, Tk]
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))  # [B, G, H/G, Tq, Tk]
    weights = powers / powers.sum(axis=-1, keepdims=True)  # [B, G, H/G, Tq, Tk]
    return (weights @ v).reshape(batch, heads, queries, v.shape[-1])  # [B, H, Tq, d_v]
