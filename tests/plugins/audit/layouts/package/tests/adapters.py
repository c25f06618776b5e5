from __future__ import annotations

import numpy as np


def run_linear(d_in: int, d_out: int, weights: np.ndarray, in_features: np.ndarray) -> np.ndarray:
    """Given the weights of a Linear layer, compute the transformation of a batched input."""
    from decoder import Linear

    layer = Linear(d_in, d_out)
    layer.weight = weights
    return layer(in_features)


def run_silu(in_features: np.ndarray) -> np.ndarray:
    """Apply SiLU to each entry."""
    from decoder.nn import silu

    return silu(in_features)


def run_swiglu(
    w1_weight: np.ndarray, w2_weight: np.ndarray, w3_weight: np.ndarray, in_features: np.ndarray
) -> np.ndarray:
    """Given the weights of a SwiGLU network, return its output."""
    import decoder

    return decoder.swiglu(in_features, w1_weight, w2_weight, w3_weight)
