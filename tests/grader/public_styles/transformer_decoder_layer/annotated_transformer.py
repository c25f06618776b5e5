"""As in the Annotated Transformer: masked_fill with -1e9, a sublayer connection."""

import math

import torch
from torch import nn


def attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.matmul(scores.softmax(dim=-1), value)


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        nbatches = query.size(0)
        query, key, value = (
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        x = attention(query, key, value, mask=mask)
        return self.o(x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k))


class TransformerDecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads must divide d_model")
        self.self_attn = MultiHeadedAttention(num_heads, d_model)
        self.cross_attn = MultiHeadedAttention(num_heads, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if tgt_mask is None:
            size = x.size(1)
            tgt_mask = torch.triu(torch.ones(size, size, device=x.device), diagonal=1) == 0
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, None, :]
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, y, tgt_mask))
        y = self.norm2(x)
        x = x + self.dropout(self.cross_attn(y, memory, memory, memory_mask))
        return x + self.dropout(self.ffn(self.norm3(x)))
