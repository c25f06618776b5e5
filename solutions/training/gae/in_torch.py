"""Schulman et al. 2016, section 3, in PyTorch."""

import torch


def gae(
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    last_value: torch.Tensor,
    gamma: float = 0.99,
    lam: float = 0.95,
) -> tuple[torch.Tensor, torch.Tensor]:
    next_values = torch.cat([values[:, 1:], last_value[:, None]], dim=1)  # [B, T]
    deltas = rewards + gamma * next_values.masked_fill(dones, 0.0) - values  # [B, T]
    advantages, following = [], torch.zeros_like(last_value)
    for delta, done in zip(reversed(deltas.unbind(1)), reversed(dones.unbind(1)), strict=True):
        following = delta + gamma * lam * following.masked_fill(done, 0.0)  # [B]
        advantages.append(following)
    stacked = torch.stack(advantages[::-1], dim=1)  # [B, T]
    return stacked, stacked + values
