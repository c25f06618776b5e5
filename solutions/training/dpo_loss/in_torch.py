"""Rafailov et al. 2023, equation 7, in PyTorch."""

import torch
from torch.nn import functional as F


def answer_log_probs(logits: torch.Tensor, ids: torch.Tensor, is_answer: torch.Tensor) -> torch.Tensor:
    log_probs = logits[:, :-1].log_softmax(dim=-1)  # [B, T - 1, V]
    of_ids = log_probs.gather(-1, ids[:, 1:, None].long())[..., 0]  # [B, T - 1]
    return (of_ids * is_answer[:, 1:]).sum(dim=-1)  # [B]


def dpo_loss(
    policy_chosen: torch.Tensor,
    policy_rejected: torch.Tensor,
    reference_chosen: torch.Tensor,
    reference_rejected: torch.Tensor,
    beta: float = 0.1,
) -> torch.Tensor:
    margin = policy_chosen - reference_chosen - (policy_rejected - reference_rejected)  # [N]
    return -F.logsigmoid(beta * margin).mean()
