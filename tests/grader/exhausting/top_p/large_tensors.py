"""Returns the largest tensor that the codec allows from every call."""

import torch


def top_p_filter(logits, p):
    return torch.ones(2**20)
