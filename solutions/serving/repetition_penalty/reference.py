"""Keskar et al. 2019, section 4.1, with the rule of signs."""

import torch


def repetition_penalty(logits, ids, penalty):
    """Divide positive logits of seen tokens by the penalty, and multiply negative ones by it."""
    if penalty <= 0:
        raise ValueError(f"penalty={penalty} must be above 0.")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(1, ids, True)  # [B, V]
    penalised = torch.where(logits > 0, logits / penalty, logits * penalty)  # [B, V]
    return torch.where(seen, penalised, logits)  # [B, V]
