"""Ainslie et al. 2023, section 2.2, in PyTorch."""

import math

import torch


def grouped_query_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads, groups = q.shape[1], k.shape[1]
    if heads % groups:
        raise ValueError(f"G={groups} heads of keys and values cannot be shared evenly by H={heads}.")
    k, v = (x.repeat_interleave(heads // groups, dim=1) for x in (k, v))  # [B, H, Tk, d_head], [..., d_v]
    queries, keys = q.shape[2], k.shape[2]
    later = torch.ones(queries, keys, dtype=torch.bool, device=q.device).triu(keys - queries + 1)  # [Tq, Tk]
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, Tq, Tk]
    return scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ v  # [B, H, Tq, d_v]
