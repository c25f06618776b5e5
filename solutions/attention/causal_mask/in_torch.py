"""The causal mask as a comparison of positions, in PyTorch."""

import torch


def causal_mask(query_len: int, key_len: int | None = None) -> torch.Tensor:
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError(f"key_len={key_len} is smaller than query_len={query_len}")
    return torch.ones(query_len, key_len, dtype=torch.bool).tril(key_len - query_len)  # [query_len, key_len]
