"""The largest tensor that may travel, every time."""

import torch


def top_p_filter(logits, p):
    return torch.ones(2**20)
