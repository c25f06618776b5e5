"""The causal mask as a comparison of positions."""

import numpy as np


def causal_mask(query_len: int, key_len: int | None = None) -> np.ndarray:
    if key_len is None:
        key_len = query_len
    if key_len < query_len:
        raise ValueError(f"key_len={key_len} is smaller than query_len={query_len}")
    key_positions = np.arange(key_len)  # [key_len]
    query_positions = np.arange(key_len - query_len, key_len)  # [query_len], the last ones
    allowed = key_positions <= query_positions[:, None]  # [query_len, key_len]
    return allowed
