"""Press, Smith and Lewis 2022, section 3, in PyTorch."""

import torch


def alibi_slopes(num_heads: int) -> torch.Tensor:
    if num_heads < 1:
        raise ValueError(f"num_heads={num_heads} is below 1")
    power = 2 ** (num_heads.bit_length() - 1)  # P, the largest power of two up to num_heads
    exponents = torch.arange(1, power + 1, dtype=torch.float64) * 8 / power  # [P]
    between = torch.arange(1, 2 * power, 2, dtype=torch.float64) * 4 / power  # [P]
    return torch.exp2(-torch.cat([exponents, between]))[:num_heads]  # [H]


def alibi_bias(num_heads: int, query_len: int, key_len: int | None = None) -> torch.Tensor:
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError(f"key_len={key_len} is smaller than query_len={query_len}")
    keys = torch.arange(key_len)  # [key_len]
    queries = keys[key_len - query_len :, None]  # [query_len, 1], the last ones
    return alibi_slopes(num_heads)[:, None, None] * (keys - queries)  # [H, query_len, key_len]
