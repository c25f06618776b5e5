"""Goodfellow et al. 2016, section 3.13, in PyTorch."""

import torch


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    counted = targets != ignore_index  # [B, T]
    rows, chosen = logits[counted], targets[counted].long()  # [N, V], [N]
    losses = rows.logsumexp(dim=-1) - rows.gather(-1, chosen[:, None])[:, 0]  # [N]
    return losses.mean()
