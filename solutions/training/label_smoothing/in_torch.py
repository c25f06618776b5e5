"""Szegedy et al. 2016, section 7, in PyTorch."""

import torch


def label_smoothing_loss(
    logits: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.1, ignore_index: int = -100
) -> torch.Tensor:
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing={smoothing} must lie between 0 and 1")
    counted = targets.long() != ignore_index  # [B, T]
    losses = -logits[counted].log_softmax(dim=-1)  # [N, V]
    of_target = losses.gather(-1, targets[counted].long()[:, None])  # [N, 1]
    return (1 - smoothing) * of_target.mean() + smoothing * losses.mean()
