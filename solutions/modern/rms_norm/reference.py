"""Zhang and Sennrich 2019, section 3, for each token by itself."""

import numpy as np


def rms_norm(x, gamma, eps=1e-6):
    """Mean square 1 in every row, then gamma."""
    mean_square = (x**2).mean(axis=-1, keepdims=True)  # [..., 1]
    return gamma * x / np.sqrt(mean_square + eps)  # [..., d_model]
