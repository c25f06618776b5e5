"""Vaswani et al. 2017, section 3.1: the output embeddings are offset by one position."""

import numpy as np


def shift_right(ids, start_id):
    """The start token, then everything but the last token."""
    start = np.full_like(ids[:, :1], start_id)  # [B, 1]
    return np.concatenate([start, ids[:, :-1]], axis=1)  # [B, T]


def next_token_pairs(ids):
    """Everything but the last token, and everything but the first."""
    if ids.shape[1] < 2:
        raise ValueError("a single token has no next one: ids must be at least two tokens long")
    return ids[:, :-1], ids[:, 1:]  # [B, T-1], [B, T-1]
