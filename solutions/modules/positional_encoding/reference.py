"""Sinusoidal positions, in a buffer."""

import torch
from torch import nn


class SinusoidalPositionalEncoding(nn.Module):
    """Adds the table of sines and cosines."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        position = torch.arange(max_len, dtype=torch.float64)[:, None]  # [max_len, 1]
        pair = torch.arange(0, d_model, 2, dtype=torch.float64)  # 2i: [ceil(d_model / 2)]
        angles = position / 10000 ** (pair / d_model)  # [max_len, ceil(d_model / 2)]
        table = torch.zeros(1, max_len, d_model)  # [1, max_len, d_model]
        table[0, :, 0::2] = angles.sin()
        table[0, :, 1::2] = angles.cos()[:, : d_model // 2]
        self.register_buffer("pe", table, persistent=False)

    def forward(self, x):
        return x + self.pe[:, : x.shape[1]]  # [B, T, d_model]
