"""Mistral's window with StreamingLLM's sinks, as comparisons of positions, in PyTorch."""

import torch


def sliding_window_mask(
    query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0
) -> torch.Tensor:
    key_len = query_len if key_len is None else key_len
    if window < 1 or num_sinks < 0 or key_len < query_len:
        raise ValueError(f"window={window}, num_sinks={num_sinks}, {query_len} queries, {key_len} keys")
    key = torch.arange(key_len)  # [key_len]
    query = key[key_len - query_len :, None]  # [query_len, 1], the last positions
    return (key <= query) & ((key > query - window) | (key < num_sinks))  # [query_len, key_len]
