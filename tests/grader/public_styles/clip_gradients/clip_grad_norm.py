"""As PyTorch's clip_grad_norm_ has it: a norm of norms, a coefficient with 1e-6 below, clamped to 1."""

import numpy as np


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm is above 0")
    norms = [np.linalg.norm(np.ravel(g)) for g in gradients if g is not None]
    total = np.linalg.norm(np.stack(norms)) if norms else np.float64(0.0)
    if not np.isfinite(total):
        raise ValueError("the norm is not finite")
    coefficient = max_norm / (total + 1e-6)
    if coefficient >= 1:
        return list(gradients), total
    return [None if g is None else (g * coefficient).astype(g.dtype) for g in gradients], total
