"""Vaswani et al. 2017, section 3.3, equation 2."""

import numpy as np


def feed_forward(x, w1, b1, w2, b2):
    """Two linear maps with a ReLU between them, for each token by itself."""
    before = x @ w1 + b1  # [..., d_ff]
    hidden = np.maximum(before, 0)  # [..., d_ff]
    return hidden @ w2 + b2  # [..., d_model]
