"""As in the paper, by the norm: the root mean square is the norm over the root of the width."""

import numpy as np


def rms_norm(x, gamma, eps=1e-6):
    mean_square = np.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1]
    return x / np.sqrt(mean_square + x.dtype.type(eps)) * gamma
