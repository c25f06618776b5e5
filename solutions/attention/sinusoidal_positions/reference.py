"""Vaswani et al. 2017, section 3.5: one angle for each pair of columns."""

import numpy as np


def sinusoidal_positions(seq_len: int, d_model: int) -> np.ndarray:
    positions = np.arange(seq_len)[:, None]  # [seq_len, 1]
    even = np.arange(0, d_model, 2)  # [ceil(d_model / 2)], the 2i of each pair
    angles = positions / 10000.0 ** (even / d_model)  # [seq_len, ceil(d_model / 2)]
    table = np.empty((seq_len, d_model))  # [seq_len, d_model]
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : d_model // 2])  # an odd d_model ends on a sine
    return table
