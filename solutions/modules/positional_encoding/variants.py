"""Right answers to positional_encoding in other styles."""

import math

import numpy as np
import torch
from torch import nn


class exponentials_in_float32(nn.Module):
    """The tutorials' exp and log, all in float32; a persistent buffer."""

    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        slowing = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * slowing)
        pe[:, 1::2] = torch.cos(position * slowing[: d_model // 2])
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.size(1), :].to(x.dtype)


class numpy_table(nn.Module):
    """A float64 table from NumPy, sine or cosine chosen column by column; cast where it is used."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        column = np.arange(d_model)
        angles = np.arange(max_len)[:, None] / np.power(10000.0, 2 * (column // 2) / d_model)
        table = np.where(column % 2 == 0, np.sin(angles), np.cos(angles))
        self.register_buffer("pe", torch.from_numpy(table)[None], persistent=False)

    def forward(self, x):
        return x + self.pe[0, : x.shape[1]].to(x)


class pairs_stacked_and_flattened(nn.Module):
    """Sines and cosines stacked in pairs, flattened, the last column cut off if it is one too many."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        rates = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
        angles = torch.outer(torch.arange(max_len, dtype=torch.float32), rates)
        pairs = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]
        self.register_buffer("pe", pairs.reshape(1, max_len, d_model).clone())

    def forward(self, x):
        return torch.add(x, self.pe.narrow(1, 0, x.size(1)).expand(len(x), -1, -1))


class cosine_as_a_shifted_sine(nn.Module):
    """Another way: a cosine is a sine a quarter turn ahead, so one sine fills every column.

    One sine for all columns, the odd ones a quarter turn ahead.
    """

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        column = torch.arange(d_model)
        rate = torch.pow(10000.0, -(column - column % 2) / d_model)
        angle = torch.arange(max_len)[:, None].double() * rate + (column % 2) * (math.pi / 2)
        self.pe: torch.Tensor
        self.register_buffer("pe", angle.sin().float().unsqueeze(0))

    def forward(self, x):
        _, tokens, _ = x.shape
        return self.pe[:, :tokens] + x


class number_by_number(nn.Module):
    """Two loops and the math module, as far as max_len goes."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        rates = [1 / 10000 ** (2 * (j // 2) / d_model) for j in range(d_model)]
        waves = [math.cos if j % 2 else math.sin for j in range(d_model)]
        rows = [[wave(pos * rate) for wave, rate in zip(waves, rates, strict=True)] for pos in range(max_len)]
        self.register_buffer("pe", torch.tensor([rows]))

    def forward(self, x):
        return x + self.pe[:, 0 : x.shape[-2]]
