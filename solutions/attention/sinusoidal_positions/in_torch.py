"""Vaswani et al. 2017, section 3.5, in PyTorch."""

import torch


def sinusoidal_positions(seq_len: int, d_model: int) -> torch.Tensor:
    positions = torch.arange(seq_len, dtype=torch.float64)[:, None]  # [seq_len, 1]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # [ceil(d_model / 2)]
    angles = positions / 10000.0 ** (even / d_model)  # [seq_len, ceil(d_model / 2)]
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # [seq_len, ceil(d_model / 2), 2]
    return pairs.flatten(start_dim=1)[:, :d_model]  # an odd d_model ends on a sine
