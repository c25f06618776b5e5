"""The decoder of an encoder-decoder Transformer: pre-norm, sinusoidal positions, tied output."""

import math

import torch
from torch import nn


class TransformerDecoder(nn.Module):
    """Embedding, layers, final norm, logits."""

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
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.register_buffer("pe", sinusoids(max_len, d_model), persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.out_proj = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.out_proj.weight = self.tok_emb.weight  # one Parameter [V, d_model]

    def forward(self, ids, memory, tgt_mask=None, memory_mask=None):
        tokens = ids.shape[1]
        if tgt_mask is None:
            tgt_mask = torch.ones(tokens, tokens, dtype=torch.bool, device=ids.device).tril()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, None, :]  # [B, 1, 1, T_src]
        x = self.tok_emb(ids) * math.sqrt(self.tok_emb.embedding_dim)  # [B, T_tgt, d_model]
        x = self.dropout(x + self.pe[:tokens].to(x.dtype))  # [B, T_tgt, d_model]
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask)  # [B, T_tgt, d_model]
        return self.out_proj(self.norm(x))  # [B, T_tgt, V]


def sinusoids(max_len, d_model):
    """The table of positions, float64 [max_len, d_model]: sines in even columns, cosines in odd ones."""
    position = torch.arange(max_len, dtype=torch.float64)[:, None]  # [max_len, 1]
    column = torch.arange(d_model)  # [d_model]
    angle = position / 10000 ** ((column - column % 2) / d_model).double()  # [max_len, d_model]
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())  # [max_len, d_model]


class Layer(nn.Module):
    """Pre-norm: self-attention, cross-attention, feed-forward, each added to the stream."""

    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads)
        self.cross_attn = Attention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, tgt_mask, memory_mask):
        normed = self.norm1(x)  # [B, T_tgt, d_model]
        x = x + self.dropout(self.self_attn(normed, normed, tgt_mask))  # [B, T_tgt, d_model]
        x = x + self.dropout(self.cross_attn(self.norm2(x), memory, memory_mask))  # [B, T_tgt, d_model]
        return x + self.dropout(self.ffn(self.norm3(x)))  # [B, T_tgt, d_model]


class Attention(nn.Module):
    """Multi-head attention of `x_q` to `x_kv`, where `visible` is True."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}.")
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x_q, x_kv, visible):
        q, k, v = self.split(self.q(x_q)), self.split(self.k(x_kv)), self.split(self.v(x_kv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, Tq, Tk]
        if visible is not None:
            scores = scores.masked_fill(~visible, float("-inf"))  # [B, H, Tq, Tk]
        mixed = scores.softmax(dim=-1) @ v  # [B, H, Tq, d_head]
        return self.o(mixed.transpose(1, 2).flatten(2))  # [B, Tq, d_model]

    def split(self, x):
        """[B, T, d_model] as [B, H, T, d_head]."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
