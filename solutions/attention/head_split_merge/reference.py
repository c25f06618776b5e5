"""Heads by reshape and transpose."""

import numpy as np


def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    batch, tokens, d_model = x.shape
    if d_model % num_heads != 0:
        raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
    blocks = x.reshape(batch, tokens, num_heads, d_model // num_heads)  # [B, T, H, d_head]
    return blocks.transpose(0, 2, 1, 3)  # [B, H, T, d_head]


def merge_heads(x: np.ndarray) -> np.ndarray:
    batch, num_heads, tokens, d_head = x.shape
    blocks = x.transpose(0, 2, 1, 3)  # [B, T, H, d_head]
    return blocks.reshape(batch, tokens, num_heads * d_head)  # [B, T, d_model]
