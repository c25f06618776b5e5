"""Gloeckle et al. 2024 (a head for each of the next tokens); DeepSeek-AI 2024 (a weight for the further)."""

import numpy as np


def multi_token_targets(targets, num_heads, ignore_index=-100):
    """Head h at position t gets the target of position t + h."""
    tokens = targets.shape[1]
    result = np.full((num_heads, *targets.shape), ignore_index, dtype=np.int64)  # [n, B, T]
    for head in range(min(num_heads, tokens)):
        result[head, :, : tokens - head] = targets[:, head:]
    return result


def multi_token_loss(logits, targets, weight=0.3, ignore_index=-100):
    """The first head's cross-entropy plus weight times the mean of the others'."""
    due = multi_token_targets(targets, len(logits), ignore_index)  # [n, B, T]
    counted = due != ignore_index  # [n, B, T]
    shifted = logits - logits.max(axis=-1, keepdims=True)  # [n, B, T, V]
    chosen = np.take_along_axis(shifted, np.where(counted, due, 0)[..., None], axis=-1)[..., 0]  # [n, B, T]
    costs = np.where(counted, np.log(np.exp(shifted).sum(axis=-1)) - chosen, 0)  # [n, B, T]
    numbers = np.maximum(counted.sum(axis=(1, 2)), 1).astype(logits.dtype)  # [n]
    losses = costs.sum(axis=(1, 2)) / numbers  # [n]
    return losses[0] + weight * losses[1:].sum() / max(len(logits) - 1, 1)
