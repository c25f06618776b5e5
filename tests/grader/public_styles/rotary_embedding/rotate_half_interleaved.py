"""As in GPT-J: cosine and sine repeated for each pair, and every second column with its sign turned."""

import numpy as np


def rotate_every_two(x):
    turned = np.stack((-x[..., 1::2], x[..., ::2]), axis=-1)
    return turned.reshape(x.shape)


def rotary_embedding(x, positions, base=10000.0):
    dim = x.shape[-1]
    if dim % 2 != 0:
        raise ValueError(f"the width must be even, not {dim}")
    inv_freq = 1.0 / (base ** (np.arange(0, dim, 2) / dim))
    sinusoid = np.einsum("i,j->ij", positions.astype(np.float64), inv_freq)
    sin, cos = (np.repeat(f(sinusoid), 2, axis=-1).astype(x.dtype) for f in (np.sin, np.cos))
    return x * cos + rotate_every_two(x) * sin
