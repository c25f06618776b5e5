"""Bridle 1990: the softmax, minus one at the target."""

import numpy as np


def softmax_cross_entropy_backward(logits, targets, ignore_index=-100):
    """(softmax - one-hot) / n at the n positions that count, 0 elsewhere."""
    counted = targets != ignore_index  # [B, T]
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))  # [B, T, V]
    probabilities = powers / powers.sum(axis=-1, keepdims=True)  # [B, T, V]
    one_hot = targets[..., None] == np.arange(logits.shape[-1])  # [B, T, V]
    return (probabilities - one_hot) * counted[..., None] / int(counted.sum())  # [B, T, V]
