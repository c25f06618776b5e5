"""Katharopoulos et al. 2020: the three forms of causal linear attention."""

import torch
from torch.nn import functional as F


def linear_attention_parallel(q, k, v):
    """All tokens at once, by the matrix of all weights."""
    scores = (features(q) @ features(k).mT).tril()  # [B, H, T, T]
    return scores @ v / scores.sum(dim=-1, keepdim=True)  # [B, H, T, d_v]


def linear_attention_step(q, k, v, state=None):
    """One token after those that the state has seen."""
    q, k = features(q), features(k)  # [B, H, d_k]
    mixed, total = state or empty_state(k, v)  # [B, H, d_k, d_v], [B, H, d_k]
    mixed = mixed + k[..., None] * v[..., None, :]  # [B, H, d_k, d_v]
    total = total + k  # [B, H, d_k]
    above = (q[..., None, :] @ mixed).squeeze(-2)  # [B, H, d_v]
    return above / (q * total).sum(dim=-1, keepdim=True), (mixed, total)  # [B, H, d_v]


def linear_attention_chunked(q, k, v, chunk_size, state=None):
    """Matrices within each chunk, the state from chunk to chunk."""
    q, k = features(q), features(k)  # [B, H, T, d_k]
    mixed, total = state or empty_state(k, v)  # [B, H, d_k, d_v], [B, H, d_k]
    results = []
    for start in range(0, q.shape[-2], chunk_size):
        rows, keys, values = (x[..., start : start + chunk_size, :] for x in (q, k, v))  # [B, H, C, d]
        scores = (rows @ keys.mT).tril()  # [B, H, C, C]
        above = scores @ values + rows @ mixed  # [B, H, C, d_v]
        below = scores.sum(dim=-1, keepdim=True) + rows @ total[..., None]  # [B, H, C, 1]
        results.append(above / below)  # [B, H, C, d_v]
        mixed = mixed + keys.mT @ values  # [B, H, d_k, d_v]
        total = total + keys.sum(dim=-2)  # [B, H, d_k]
    return torch.cat(results, dim=-2), (mixed, total)  # [B, H, T, d_v]


def features(x):
    """The positive feature map, elu(x) + 1."""
    return F.elu(x) + 1  # as x


def empty_state(k, v):
    """The state before the first token."""
    total = k.new_zeros(*k.shape[:2], k.shape[-1])  # [B, H, d_k]
    return total.new_zeros(*total.shape, v.shape[-1]), total  # [B, H, d_k, d_v], [B, H, d_k]
