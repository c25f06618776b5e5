"""As LLaMA has it: pairs of columns are complex numbers, turned by a product. Fails:
float64_keeps_its_digits."""

import numpy as np


def rotary_embedding(x, positions, base=10000.0):
    width = x.shape[-1]
    if width % 2:
        raise ValueError("d_head must be even")
    freqs = 1.0 / (base ** (np.arange(0, width, 2)[: width // 2].astype(np.float32) / width))
    freqs_cis = np.exp(1j * np.outer(positions, freqs)).astype(np.complex64)
    pairs = np.ascontiguousarray(x.astype(np.float32)).view(np.complex64)
    turned = (pairs * freqs_cis).view(np.float32)
    return turned.reshape(x.shape).astype(x.dtype)
