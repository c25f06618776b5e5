"""Shazeer 2020, section 2: FFN_SwiGLU."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    """Three linear layers without biases."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate = self.gate_proj(x)  # [..., d_ff]
        hidden = gate * torch.sigmoid(gate) * self.up_proj(x)  # [..., d_ff]
        return self.down_proj(hidden)  # [..., d_model]
