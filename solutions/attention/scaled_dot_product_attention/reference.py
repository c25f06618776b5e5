"""Vaswani et al. 2017, equation 1, with a mask."""

import math

import numpy as np


def scaled_dot_product_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])  # [..., Tq, Tk]
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)  # [..., Tq, Tk]
    weights = softmax(scores)  # [..., Tq, Tk]
    return weights @ v, weights  # [..., Tq, d_v], [..., Tq, Tk]


def softmax(scores: np.ndarray) -> np.ndarray:
    """Along the keys; a query whose scores are all -inf gets zeros."""
    largest = scores.max(axis=-1, keepdims=True)  # [..., Tq, 1]
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))  # [..., Tq, Tk]
    total = powers.sum(axis=-1, keepdims=True)  # [..., Tq, 1]
    return powers / np.where(total == 0, 1, total)  # [..., Tq, Tk]
