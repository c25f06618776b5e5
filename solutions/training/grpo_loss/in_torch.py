"""Shao et al. 2024, equations 3 and 4, in PyTorch."""

import torch


def group_advantages(rewards: torch.Tensor) -> torch.Tensor:
    centred = rewards - rewards.mean(dim=-1, keepdim=True)  # [P, G]
    deviation = rewards.std(dim=-1, correction=0, keepdim=True)  # [P, 1]
    return centred / deviation.where(deviation != 0, 1.0)  # [P, G]


def grpo_loss(
    log_probs: torch.Tensor,
    old_log_probs: torch.Tensor,
    reference_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    clip: float = 0.2,
    kl_weight: float = 0.04,
) -> torch.Tensor:
    ratio = (log_probs - old_log_probs).masked_fill(~mask, 0.0).exp()  # [N, T]
    advantage = advantages[:, None]  # [N, 1]
    gain = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)  # [N, T]
    to_reference = (reference_log_probs - log_probs).masked_fill(~mask, 0.0)  # [N, T]
    kl = to_reference.expm1() - to_reference  # [N, T]
    of_token = (gain - kl_weight * kl).masked_fill(~mask, 0.0)  # [N, T]
    return -(of_token.sum(dim=1) / mask.sum(dim=1)).mean()
