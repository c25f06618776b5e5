"""A pre-norm decoder layer: self-attention, cross-attention, feed-forward network."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    """Multi-head attention of one sequence to another."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        self.num_heads = num_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def _split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # [B, H, T, d_head]

    def forward(self, x, source, mask=None):
        q, k, v = self._split(self.q(x)), self._split(self.k(source)), self._split(self.v(source))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, Tq, Tk]
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))  # [B, H, Tq, Tk]
        mixed = scores.softmax(dim=-1) @ v  # [B, H, Tq, d_head]
        return self.o(mixed.transpose(1, 2).flatten(2))  # [B, Tq, d_model]


class TransformerDecoderLayer(nn.Module):
    """Three sublayers, each added to the stream that it reads through a norm."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attn = Attention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attn = Attention(d_model, num_heads)
        self.norm3 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        tokens = x.shape[1]
        if tgt_mask is None:
            tgt_mask = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).tril()  # [T_tgt, T_tgt]
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, None]  # [B, 1, 1, T_src]
        h = self.norm1(x)  # [B, T_tgt, d_model]
        x = x + self.dropout(self.self_attn(h, h, tgt_mask))  # [B, T_tgt, d_model]
        x = x + self.dropout(self.cross_attn(self.norm2(x), memory, memory_mask))  # [B, T_tgt, d_model]
        return x + self.dropout(self.ffn(self.norm3(x)))  # [B, T_tgt, d_model]
