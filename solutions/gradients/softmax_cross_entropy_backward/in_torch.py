"""Bridle 1990, in PyTorch: one is subtracted at the targets of the rows that count."""

import torch


def softmax_cross_entropy_backward(
    logits: torch.Tensor, targets: torch.Tensor, ignore_index: int = -100
) -> torch.Tensor:
    counted = targets != ignore_index  # [B, T]
    rows = logits[counted].softmax(dim=-1)  # [N, V]
    rows[torch.arange(len(rows), device=rows.device), targets[counted].long()] -= 1  # [N]
    gradient = torch.zeros_like(logits)  # [B, T, V]
    gradient[counted] = rows / len(rows)  # [N, V]
    return gradient
