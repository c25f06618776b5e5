"""Su et al. 2021, equation 34: neighbouring columns are the coordinates of a plane that turns."""

import numpy as np


def rotary_embedding(x, positions, base=10000.0):
    """Turn the pair (2i, 2i + 1) of the token at position m by m * base^(-2i / d_head)."""
    d_head = x.shape[-1]
    if d_head % 2:
        raise ValueError(f"d_head={d_head} is odd: its numbers do not form pairs.")
    frequencies = base ** (-np.arange(0, d_head, 2) / d_head)  # [d_head/2]
    angles = positions[:, None] * frequencies  # [T, d_head/2]
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)  # [T, d_head/2]
    first, second = x[..., 0::2], x[..., 1::2]  # [..., T, d_head/2]
    turned = np.stack([first * cos - second * sin, first * sin + second * cos], axis=-1)  # [..., T, d/2, 2]
    return turned.reshape(x.shape)  # [..., T, d_head]
