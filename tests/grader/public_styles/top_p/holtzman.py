"""As published with the paper: sorted downwards, the verdicts shifted by one, so that the
crossing token stays."""

import torch


def top_p_filter(logits, p):
    if p <= 0:
        raise ValueError("p must be above 0")
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative_probs = torch.cumsum(torch.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative_probs >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    if p >= 1:
        remove = torch.zeros_like(remove)
    kept = sorted_logits.masked_fill(remove, float("-inf"))
    return torch.empty_like(logits).scatter_(-1, sorted_indices, kept)
