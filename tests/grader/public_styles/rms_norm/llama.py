"""As LLaMA has it: normalised in float32, cast back, then scaled. Fails: float64_keeps_its_digits."""

import numpy as np


def rms_norm(x, gamma, eps=1e-6):
    h = x.astype(np.float32)
    h = h * (1.0 / np.sqrt((h * h).mean(-1, keepdims=True) + np.float32(eps)))
    return h.astype(x.dtype) * gamma
