"""Goodfellow et al. 2016, section 3.13; the logarithm is taken before anything is rounded."""

import numpy as np


def cross_entropy(logits, targets, ignore_index=-100):
    """The mean of log(sum(exp)) - logit over the targets that count."""
    counted = targets != ignore_index  # [B, T]
    rows, chosen = logits[counted], targets[counted]  # [N, V], [N]
    shifted = rows - rows.max(axis=-1, keepdims=True)  # [N, V]
    log_total = np.log(np.exp(shifted).sum(axis=-1))  # [N]
    losses = log_total - shifted[np.arange(len(rows)), chosen]  # [N]
    return losses.mean()
