"""As in many a blog: all rows by `view(-1, V)`, which needs rows that lie behind each other.

Fails: any_memory_layout.
"""

import torch


def top_k_filter(logits, k):
    if k < 1:
        raise ValueError("k must be at least 1")
    rows = logits.view(-1, logits.shape[-1])
    values, indices = rows.topk(min(k, rows.shape[-1]), dim=-1)
    kept = torch.full_like(rows, float("-inf")).scatter_(-1, indices, values)
    return kept.view(logits.shape)
