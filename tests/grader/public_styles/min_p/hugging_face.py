"""As Hugging Face has it: probabilities, the best of each row, a mask, masked_fill."""

import torch


def min_p_filter(logits, p):
    if not 0 <= p <= 1.0:
        raise ValueError(f"`min_p` has to be a float in the [0, 1] interval, but is {p}")
    probs = torch.softmax(logits, dim=-1)
    top_probs = probs.max(dim=-1, keepdim=True).values
    tokens_to_remove = probs < p * top_probs
    sorted_indices = torch.argsort(logits, descending=True, dim=-1)
    sorted_to_remove = torch.gather(tokens_to_remove, dim=-1, index=sorted_indices)
    sorted_to_remove[..., :1] = False
    to_remove = sorted_to_remove.scatter(-1, sorted_indices, sorted_to_remove)
    return logits.masked_fill(to_remove, -float("inf"))
