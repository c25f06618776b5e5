"""Heads by view and transpose, in PyTorch."""

import torch


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    if x.shape[-1] % num_heads:
        raise ValueError(f"d_model={x.shape[-1]} is not divisible by num_heads={num_heads}")
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)  # [B, H, T, d_head]


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).flatten(start_dim=2)  # [B, T, d_model]
