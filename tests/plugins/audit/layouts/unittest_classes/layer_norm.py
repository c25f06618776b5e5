"""Layer normalisation.

Every vector gets the mean zero and the variance one, then a scale and a shift.
"""

import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    """Normalise x over its last axis, then scale by gamma and shift by beta."""
    if gamma.shape != x.shape[-1:]:
        raise ValueError("gamma must have one entry for each feature")
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * gamma + beta
