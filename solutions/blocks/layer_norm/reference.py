"""Ba, Kiros and Hinton 2016, section 3, for each token by itself."""

import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    """Mean 0 and variance 1 in every row, then gamma and beta."""
    centred = x - x.mean(axis=-1, keepdims=True)  # [..., d_model]
    variance = (centred**2).mean(axis=-1, keepdims=True)  # [..., 1]
    return gamma * centred / np.sqrt(variance + eps) + beta  # [..., d_model]
