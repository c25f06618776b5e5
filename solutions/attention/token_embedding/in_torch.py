"""Two lookups and a sum, behind two checks, in PyTorch."""

import torch


def embed(ids: torch.Tensor, token_table: torch.Tensor, position_table: torch.Tensor) -> torch.Tensor:
    vocab_size, max_len, tokens = len(token_table), len(position_table), ids.shape[-1]
    if ids.min() < 0 or ids.max() >= vocab_size:
        raise ValueError(f"ids must lie in [0, {vocab_size})")
    if tokens > max_len:
        raise ValueError(f"{tokens} tokens for {max_len} positions")
    return token_table[ids] + position_table[:tokens]  # [..., T, d_model] + [T, d_model]
