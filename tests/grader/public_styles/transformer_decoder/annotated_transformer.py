"""As in the Annotated Transformer, of the given names: clones of a layer, a buffer of positions, -1e9."""

import copy
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


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadedAttention(num_heads, d_model)
        self.cross_attn = MultiHeadedAttention(num_heads, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, memory_mask, tgt_mask):
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, y, tgt_mask))
        y = self.norm2(x)
        x = x + self.dropout(self.cross_attn(y, memory, memory, memory_mask))
        return x + self.dropout(self.ffn(self.norm3(x)))


def positions(d_model, max_len):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term[: d_model // 2])
    return pe


def subsequent_mask(size, device):
    return torch.triu(torch.ones(size, size, device=device), diagonal=1).type(torch.uint8) == 0


class TransformerDecoder(nn.Module):
    def __init__(
        self,
        num_layers,
        d_model,
        num_heads,
        d_ff,
        vocab_size,
        max_len=5000,
        dropout=0.1,
        tie_weights=True,
    ):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads must divide d_model")
        self.d_model = d_model
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.register_buffer("pe", positions(d_model, max_len), persistent=False)
        layer = DecoderLayer(d_model, num_heads, d_ff, dropout)
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)
        self.out_proj = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.out_proj.weight = self.tok_emb.weight
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids, memory, tgt_mask=None, memory_mask=None):
        if tgt_mask is None:
            tgt_mask = subsequent_mask(ids.size(1), ids.device)
        if memory_mask is not None:
            memory_mask = memory_mask.unsqueeze(1).unsqueeze(1)
        x = self.dropout(self.tok_emb(ids) * math.sqrt(self.d_model) + self.pe[: ids.size(1)])
        for layer in self.layers:
            x = layer(x, memory, memory_mask, tgt_mask)
        return self.out_proj(self.norm(x))
