"""Vaswani et al. 2017, section 3.4, in PyTorch."""

import torch


def next_token(hidden: torch.Tensor, output_weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    logits = hidden[-1] @ output_weight  # [V]
    return logits, logits.softmax(dim=-1), int(logits.argmax())
