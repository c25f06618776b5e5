"""As in LLaMA's code: one einsum a product, a mask that is added, the softmax in float32. Fails:
float64_keeps_its_digits."""

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("the heads must divide the width")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.num_heads, -1).unbind(2)
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / (c // self.num_heads) ** 0.5
        mask = torch.full((t, t), float("-inf"), device=x.device, dtype=x.dtype).triu(1)
        weights = (scores + mask).float().softmax(-1).type_as(x)
        return self.out(torch.einsum("bhij,bjhd->bihd", weights, v).reshape(b, t, c)), weights
