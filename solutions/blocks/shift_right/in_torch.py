"""Vaswani et al. 2017, section 3.1: the output embeddings are offset by one position, in PyTorch."""

import torch


def shift_right(ids: torch.Tensor, start_id: int) -> torch.Tensor:
    start = torch.full_like(ids[:, :1], start_id)  # [B, 1]
    return torch.cat([start, ids[:, :-1]], dim=1)  # [B, T]


def next_token_pairs(ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if ids.shape[1] < 2:
        raise ValueError("a single token has no next one: ids must be at least two tokens long")
    return ids[:, :-1], ids[:, 1:]  # [B, T-1], [B, T-1]
