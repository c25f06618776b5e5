"""Vaswani et al. 2017, section 3.2.2, in PyTorch."""

import math

import torch


def multi_head_attention(
    x_q: torch.Tensor,
    x_kv: torch.Tensor,
    w_q: torch.Tensor,
    w_k: torch.Tensor,
    w_v: torch.Tensor,
    w_o: torch.Tensor,
    num_heads: int,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    q, k, v = (
        (x @ w).unflatten(-1, (num_heads, -1)).transpose(1, 2)  # [B, H, T, d]
        for x, w in ((x_q, w_q), (x_kv, w_k), (x_kv, w_v))
    )
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, Tq, Tk]
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # a query that sees nothing has NaN before
    return (weights @ v).transpose(1, 2).flatten(start_dim=2) @ w_o  # [B, Tq, d_model]
