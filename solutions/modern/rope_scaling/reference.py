"""Peng et al. 2023: frequencies by parts, and the attention temperature."""

import math

import numpy as np


def yarn_frequencies(d_head, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
    """Keep fast pairs, slow the slow ones down, and mix in between by how often a pair turns."""
    if d_head % 2:
        raise ValueError(f"d_head={d_head} is odd: its numbers do not form pairs.")
    if factor < 1:
        raise ValueError(f"factor={factor} is below 1: the context cannot become shorter.")
    frequencies = base ** (-np.arange(0, d_head, 2) / d_head)  # [d_head/2]
    turns = original_length * frequencies / (2 * math.pi)  # [d_head/2]
    kept = np.clip((turns - beta_slow) / (beta_fast - beta_slow), 0, 1)  # [d_head/2]
    return kept * frequencies + (1 - kept) * frequencies / factor  # [d_head/2]


def rope_scaling(x, positions, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
    """Turn neighbouring columns by the new frequencies, and lengthen all by the temperature."""
    frequencies = yarn_frequencies(x.shape[-1], factor, original_length, base, beta_fast, beta_slow)
    angles = positions[:, None] * frequencies  # [T, d_head/2]
    scale = 0.1 * math.log(factor) + 1
    cos, sin = (scale * np.cos(angles)).astype(x.dtype), (scale * np.sin(angles)).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]  # [..., T, d_head/2]
    turned = np.stack([first * cos - second * sin, first * sin + second * cos], axis=-1)  # [..., T, d/2, 2]
    return turned.reshape(x.shape)  # [..., T, d_head]
