"""Causal attention weights: the mask first, with the token itself visible, then the softmax."""

import numpy as np


def causal_attention_weights(scores):
    """For each query a softmax over the keys up to itself."""
    tokens = scores.shape[-1]
    visible = np.tril(np.ones((tokens, tokens), dtype=bool))  # [T, T]
    masked = np.where(visible, scores, -np.inf)  # [..., T, T]
    powers = np.exp(masked - masked.max(axis=-1, keepdims=True))  # [..., T, T]
    return powers / powers.sum(axis=-1, keepdims=True)  # [..., T, T]
