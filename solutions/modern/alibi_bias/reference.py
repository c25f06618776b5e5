"""Press, Smith and Lewis 2022, section 3, with the slopes of the code published with it."""

import numpy as np


def alibi_slopes(num_heads: int) -> np.ndarray:
    if num_heads < 1:
        raise ValueError(f"num_heads={num_heads} is below 1")
    power = 2 ** (num_heads.bit_length() - 1)  # P, the largest power of two up to num_heads
    slopes = 2.0 ** (-8 * np.arange(1, power + 1) / power)  # [P]
    between = 2.0 ** (-4 * np.arange(1, 2 * power, 2) / power)  # [P], 1st, 3rd ... slope of 2P heads
    return np.concatenate([slopes, between])[:num_heads]  # [H]


def alibi_bias(num_heads: int, query_len: int, key_len: int | None = None) -> np.ndarray:
    if key_len is None:
        key_len = query_len
    if key_len < query_len:
        raise ValueError(f"key_len={key_len} is smaller than query_len={query_len}")
    key_positions = np.arange(key_len)  # [key_len]
    query_positions = key_positions[key_len - query_len :, None]  # [query_len, 1], the last ones
    minus_distance = key_positions - query_positions  # [query_len, key_len]
    return alibi_slopes(num_heads)[:, None, None] * minus_distance  # [H, query_len, key_len]
