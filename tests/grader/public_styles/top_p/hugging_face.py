"""As Hugging Face has it: sorted upwards, the tail whose mass is at most 1 - p removed."""

import torch


def top_p_filter(logits, p):
    if p <= 0:
        raise ValueError(f"`top_p` has to be a float > 0, but is {p}")
    if p >= 1:
        return logits.clone()
    sorted_logits, sorted_indices = torch.sort(logits, descending=False)
    cumulative_probs = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
    sorted_indices_to_remove = cumulative_probs <= (1 - p)
    sorted_indices_to_remove[..., -1:] = False
    indices_to_remove = sorted_indices_to_remove.scatter(-1, sorted_indices, sorted_indices_to_remove)
    return logits.masked_fill(indices_to_remove, -float("inf"))
