"""Dao 2023, algorithm 2, with the queries in the outer loop."""

import math

import torch


def attention_backward(dout, q, k, v, out, lse, block_size, causal=False):
    """The gradients of attention, from the scores of one block at a time."""
    queries, keys, scale = q.shape[-2], k.shape[-2], 1 / math.sqrt(q.shape[-1])
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    delta = (dout * out).sum(-1, keepdim=True)  # [..., Tq, 1]
    for start in range(0, queries, block_size):
        rows = slice(start, start + block_size)  # Bq queries
        at = keys - queries + torch.arange(queries, device=q.device)[rows, None]  # [Bq, 1], their positions
        seen = min(keys, keys - queries + start + block_size) if causal else keys
        for begin in range(0, seen, block_size):
            columns = slice(begin, begin + block_size)  # Bk keys
            scores = scale * q[..., rows, :] @ k[..., columns, :].mT  # [..., Bq, Bk]
            if causal:
                later = torch.arange(keys, device=q.device)[columns] > at  # [Bq, Bk]
                scores = scores.masked_fill(later, -torch.inf)  # [..., Bq, Bk]
            weights = (scores - lse[..., rows, None]).exp()  # [..., Bq, Bk]
            dweights = dout[..., rows, :] @ v[..., columns, :].mT  # [..., Bq, Bk]
            dscores = scale * weights * (dweights - delta[..., rows, :])  # [..., Bq, Bk]
            dq[..., rows, :] += dscores @ k[..., columns, :]  # [..., Bq, d_k]
            dk[..., columns, :] += dscores.mT @ q[..., rows, :]  # [..., Bk, d_k]
            dv[..., columns, :] += weights.mT @ dout[..., rows, :]  # [..., Bk, d_v]
    return dq, dk, dv
