"""Right answers to rotary_embedding in other styles."""

import math

import numpy as np


def multiplies_complex_numbers(x, positions, base=10000.0):
    """Another way: read each pair as one complex number and turn it by a product.

    Each pair as one complex number, turned by a product.
    """
    if x.shape[-1] % 2:
        raise ValueError("d_head must be even")
    pairs = x.shape[-1] // 2
    turns = np.exp(1j * np.outer(positions, base ** (-np.arange(pairs) / pairs)))
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * turns
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def loops_over_tokens_and_pairs(x, positions, base=10000.0):
    """Token by token and pair by pair, with the library's own sine."""
    assert x.shape[-1] % 2 == 0, "d_head must be even"
    result = np.empty_like(x)
    for token, position in enumerate(positions.tolist()):
        for i in range(0, x.shape[-1], 2):
            angle = position / base ** (i / x.shape[-1])
            cos, sin = math.cos(angle), math.sin(angle)
            result[..., token, i] = x[..., token, i] * cos - x[..., token, i + 1] * sin
            result[..., token, i + 1] = x[..., token, i] * sin + x[..., token, i + 1] * cos
    return result


def turns_a_partner_array(x, positions, base=10000.0):
    """x times repeated cosines plus its partners, their signs turned, times repeated sines."""
    d_head = x.shape[-1]
    if d_head % 2 == 1:
        raise ValueError(f"cannot pair {d_head} columns")
    angles = np.repeat(positions[:, None] / base ** (np.arange(0, d_head, 2) / d_head), 2, axis=-1)
    partners = np.empty_like(x)
    partners[..., 0::2], partners[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    return x * np.cos(angles).astype(x.dtype) + partners * np.sin(angles).astype(x.dtype)


def applies_a_matrix_to_each_pair(x, positions, base=10000.0):
    """A rotation matrix for each token and pair, by einsum."""
    *lead, tokens, d_head = x.shape
    if d_head % 2:
        raise ValueError("odd width")
    angles = np.einsum("t,i->ti", positions.astype(float), base ** (-np.arange(0, d_head, 2) / d_head))
    matrices = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]], dtype=x.dtype)
    pairs = x.reshape(*lead, tokens, d_head // 2, 2)
    return np.einsum("abti,...tib->...tia", matrices, pairs).reshape(x.shape)


def keeps_the_angles_in_the_dtype_of_x(x, positions, base=10000.0):
    """Positions, frequencies and angles in the dtype of x, float32 included; written into its columns."""
    if x.shape[-1] & 1:
        raise ValueError("x needs an even number of columns")
    dtype = x.dtype
    exponents = np.arange(0, x.shape[-1], 2, dtype=dtype) / dtype.type(x.shape[-1])
    angles = positions.astype(dtype)[:, None] * np.exp(-exponents * np.log(dtype.type(base)))
    result = np.array(x, order="F")
    result[..., ::2] = x[..., ::2] * np.cos(angles) - x[..., 1::2] * np.sin(angles)
    result[..., 1::2] = x[..., ::2] * np.sin(angles) + x[..., 1::2] * np.cos(angles)
    return result
