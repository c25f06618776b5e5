"""Vaswani et al. 2017, section 3.2.2: project, split, attend, merge, project."""

import math

import numpy as np


def multi_head_attention(
    x_q: np.ndarray,
    x_kv: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
    w_o: np.ndarray,
    num_heads: int,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    q = split_heads(x_q @ w_q, num_heads)  # [B, H, Tq, d_k]
    k = split_heads(x_kv @ w_k, num_heads)  # [B, H, Tk, d_k]
    v = split_heads(x_kv @ w_v, num_heads)  # [B, H, Tk, d_v]
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])  # [B, H, Tq, Tk]
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)  # [B, H, Tq, Tk]
    heads = softmax(scores) @ v  # [B, H, Tq, d_v]
    return merge_heads(heads) @ w_o  # [B, Tq, d_model]


def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """The h-th block of columns to head h."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, num_heads, width // num_heads).transpose(0, 2, 1, 3)  # [B, H, T, d]


def merge_heads(x: np.ndarray) -> np.ndarray:
    """All heads side by side."""
    batch, num_heads, tokens, d_v = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, tokens, num_heads * d_v)  # [B, T, H * d_v]


def softmax(scores: np.ndarray) -> np.ndarray:
    """Along the keys; a query whose scores are all -inf gets zeros."""
    largest = scores.max(axis=-1, keepdims=True)  # [B, H, Tq, 1]
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))  # [B, H, Tq, Tk]
    total = powers.sum(axis=-1, keepdims=True)  # [B, H, Tq, 1]
    return powers / np.where(total == 0, 1, total)  # [B, H, Tq, Tk]
