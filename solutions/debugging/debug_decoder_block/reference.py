"""A pre-norm decoder block: causal self-attention and a feed-forward network."""

import math

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself and its past."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        batch, tokens, d_model = x.shape
        d_head = d_model // self.num_heads
        parts = self.qkv(x).view(batch, tokens, 3, self.num_heads, d_head)  # [B, T, 3, H, d_head]
        q, k, v = parts.permute(2, 0, 3, 1, 4)  # each [B, H, T, d_head]
        scores = q @ k.transpose(-2, -1) / math.sqrt(d_head)  # [B, H, T, T]
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)  # [T, T]
        weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)  # [B, H, T, T]
        mixed = (weights @ v).transpose(1, 2).reshape(batch, tokens, d_model)  # [B, T, d_model]
        return self.out(mixed)


class DecoderBlock(nn.Module):
    """Two sublayers, each added to the stream that it reads through a norm."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = CausalSelfAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))  # [B, T, d_model]
        return x + self.ffn(self.norm2(x))  # [B, T, d_model]
