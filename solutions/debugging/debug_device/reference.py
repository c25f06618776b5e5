"""Single-head causal attention that works on any device."""

import math

import torch
from torch import nn


class CausalAttention(nn.Module):
    """Attention of each token to itself and its past."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        visible = torch.ones(max_len, max_len, dtype=torch.bool).tril()  # [max_len, max_len]
        self.register_buffer("visible", visible, persistent=False)

    def forward(self, x):
        tokens = x.shape[1]
        q, k, v = self.q(x), self.k(x), self.v(x)  # each [B, T, d_model]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, T, T]
        mask = torch.zeros(tokens, tokens, dtype=x.dtype, device=x.device)  # [T, T]
        mask = mask.masked_fill(~self.visible[:tokens, :tokens], float("-inf"))  # [T, T]
        return (scores + mask).softmax(dim=-1) @ v  # [B, T, d_model]
