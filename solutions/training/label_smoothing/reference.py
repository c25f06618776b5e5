"""Szegedy et al. 2016, section 7: (1 - smoothing) on the target, smoothing / V on every token."""

import numpy as np


def label_smoothing_loss(logits, targets, smoothing=0.1, ignore_index=-100):
    """A mixture of two means over the targets that count: the target's loss, and that of all tokens."""
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing={smoothing} must lie between 0 and 1")
    counted = targets != ignore_index  # [B, T]
    rows, chosen = logits[counted], targets[counted]  # [N, V], [N]
    shifted = rows - rows.max(axis=-1, keepdims=True)  # [N, V]
    losses = np.log(np.exp(shifted).sum(axis=-1, keepdims=True)) - shifted  # [N, V]
    of_target = losses[np.arange(len(rows)), chosen]  # [N]
    return (1 - smoothing) * of_target.mean() + smoothing * losses.mean()
