"""Dao et al. 2022, section 3.1: the online softmax, with the queries in the outer loop."""

import math

import torch


def flash_attention(q, k, v, block_size, causal=False):
    """Attention that makes the scores of one block at a time."""
    queries, keys = q.shape[-2], k.shape[-2]
    if causal and keys < queries:
        raise ValueError(f"{queries} queries cannot be the last of {keys} positions.")
    output = q.new_empty(*q.shape[:-1], v.shape[-1])  # [..., Tq, d_v]
    for start in range(0, queries, block_size):
        rows = q[..., start : start + block_size, :] / math.sqrt(q.shape[-1])  # [..., Bq, d_k]
        first = keys - queries + start  # the position of the block's first query
        seen = min(keys, first + block_size) if causal else keys
        output[..., start : start + block_size, :] = attend(
            rows, k[..., :seen, :], v[..., :seen, :], block_size, first if causal else keys
        )
    return output


def attend(rows, k, v, block_size, first):
    """One block of queries over all keys that it sees; row i sees the keys up to `first` + i."""
    maximum = rows.new_full((*rows.shape[:-1], 1), -torch.inf)  # [..., Bq, 1]
    total = torch.zeros_like(maximum)  # [..., Bq, 1]
    mixed = rows.new_zeros(*rows.shape[:-1], v.shape[-1])  # [..., Bq, d_v]
    last = first + torch.arange(rows.shape[-2], device=rows.device)[:, None]  # [Bq, 1]
    for start in range(0, k.shape[-2], block_size):
        keys = k[..., start : start + block_size, :]  # [..., Bk, d_k]
        at = start + torch.arange(keys.shape[-2], device=rows.device)  # [Bk]
        scores = (rows @ keys.mT).masked_fill(at > last, -torch.inf)  # [..., Bq, Bk]
        larger = torch.maximum(maximum, scores.amax(-1, keepdim=True))  # [..., Bq, 1]
        powers, change = (scores - larger).exp(), (maximum - larger).exp()  # [..., Bq, Bk], [..., Bq, 1]
        total = change * total + powers.sum(-1, keepdim=True)  # [..., Bq, 1]
        mixed = change * mixed + powers @ v[..., start : start + block_size, :]  # [..., Bq, d_v]
        maximum = larger  # [..., Bq, 1]
    return mixed / total  # [..., Bq, d_v]
