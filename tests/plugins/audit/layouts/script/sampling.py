"""Filters of logits.

A filter sets the logits of unlikely tokens to minus infinity.
"""

import numpy as np


def top_k(logits, k):
    """Keep the k largest logits of each row, and set the others to -inf."""
    if k < 1:
        raise ValueError("k must be positive")
    kth = np.sort(logits, axis=-1)[..., [-min(k, logits.shape[-1])]]
    return np.where(logits >= kth, logits, -np.inf)


def temperature(logits, t):
    """Divide the logits by a temperature."""
    if t <= 0:
        raise ValueError("the temperature must be positive")
    return logits / t
