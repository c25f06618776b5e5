"""Vaswani et al. 2017, equation 1, with a mask, in PyTorch."""

import math

import torch


def scaled_dot_product_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [..., Tq, Tk]
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # [..., Tq, Tk]
    weights = scores.softmax(dim=-1)  # [..., Tq, Tk]
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # a query that sees nothing has NaN before
    return weights @ v, weights  # [..., Tq, d_v], [..., Tq, Tk]
