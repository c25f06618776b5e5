"""As in the Annotated Transformer, of the given names with the norm behind each sublayer, as in the
paper."""

import copy
import math

import torch
from torch import nn


def attention(query, key, value, mask):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    return torch.matmul(scores.masked_fill(mask == 0, -1e9).softmax(dim=-1), value)


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask):
        nbatches = query.size(0)
        query, key, value = (
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        x = attention(query, key, value, mask.unsqueeze(1))
        return self.o(x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadedAttention(num_heads, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadedAttention(num_heads, d_model)
        self.cross_attn = MultiHeadedAttention(num_heads, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, tgt_mask):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, memory, src_mask)))
        return self.norm3(x + self.dropout(self.ffn(x)))


def positions(d_model, max_len):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term[: d_model // 2])
    return pe


class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab,
        tgt_vocab,
        d_model,
        num_heads,
        d_ff,
        num_layers,
        max_len=512,
        dropout=0.1,
        pad_id=0,
    ):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads must divide d_model")
        self.d_model, self.pad = d_model, pad_id
        self.src_emb, self.tgt_emb = nn.Embedding(src_vocab, d_model), nn.Embedding(tgt_vocab, d_model)
        self.register_buffer("pe", positions(d_model, max_len), persistent=False)
        self.encoder, self.decoder = (
            nn.ModuleList(
                [copy.deepcopy(layer(d_model, num_heads, d_ff, dropout)) for _ in range(num_layers)]
            )
            for layer in (EncoderLayer, DecoderLayer)
        )
        self.out_proj = nn.Linear(d_model, tgt_vocab)
        self.dropout = nn.Dropout(dropout)

    def embed(self, table, ids):
        return self.dropout(table(ids) * math.sqrt(self.d_model) + self.pe[: ids.size(1)])

    def src_mask(self, src):
        return (src != self.pad).unsqueeze(-2)

    def tgt_mask(self, tgt):
        size = tgt.size(-1)
        subsequent = torch.triu(torch.ones((1, size, size), device=tgt.device), diagonal=1) == 0
        return (tgt != self.pad).unsqueeze(-2) & subsequent

    def encode(self, src):
        x = self.embed(self.src_emb, src)
        for layer in self.encoder:
            x = layer(x, self.src_mask(src))
        return x

    def decode(self, tgt, memory, src):
        x = self.embed(self.tgt_emb, tgt)
        for layer in self.decoder:
            x = layer(x, memory, self.src_mask(src), self.tgt_mask(tgt))
        return self.out_proj(x)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
