"""Vaswani et al. 2017, section 3.2.3, in PyTorch."""

import math

import torch


def cross_attention(
    x_dec: torch.Tensor, x_enc: torch.Tensor, w_q: torch.Tensor, w_k: torch.Tensor, w_v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    q, k, v = x_dec @ w_q, x_enc @ w_k, x_enc @ w_v  # [B, T_tgt, d_k], [B, T_src, d_k], [B, T_src, d_v]
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, T_tgt, T_src]
    weights = scores.softmax(dim=-1)  # [B, T_tgt, T_src]
    return weights @ v, weights  # [B, T_tgt, d_v], [B, T_tgt, T_src]
