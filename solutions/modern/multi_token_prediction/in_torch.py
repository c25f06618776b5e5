"""Gloeckle et al. 2024 and DeepSeek-AI 2024, in PyTorch."""

import torch


def multi_token_targets(targets: torch.Tensor, num_heads: int, ignore_index: int = -100) -> torch.Tensor:
    batch, tokens = targets.shape
    result = torch.full((num_heads, batch, tokens), ignore_index, device=targets.device)  # [n, B, T]
    for head in range(min(num_heads, tokens)):
        result[head, :, : tokens - head] = targets[:, head:]
    return result


def multi_token_loss(
    logits: torch.Tensor, targets: torch.Tensor, weight: float = 0.3, ignore_index: int = -100
) -> torch.Tensor:
    due = multi_token_targets(targets, len(logits), ignore_index)  # [n, B, T]
    counted = due != ignore_index  # [n, B, T]
    chosen = due.masked_fill(~counted, 0)[..., None]  # [n, B, T, 1]
    costs = -logits.log_softmax(dim=-1).gather(-1, chosen)[..., 0].masked_fill(~counted, 0)  # [n, B, T]
    losses = costs.sum(dim=(1, 2)) / counted.sum(dim=(1, 2)).clamp(min=1)  # [n]
    return losses[0] + weight * losses[1:].sum() / max(len(logits) - 1, 1)
