"""Vaswani et al. 2017: post-norm encoder and decoder, masks made from the ids."""

import math

import torch
from torch import nn


class Transformer(nn.Module):
    """Both embeddings, both stacks, the output layer."""

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
        self.pad_id = pad_id
        self.src_emb = nn.Embedding(src_vocab, d_model)
        self.tgt_emb = nn.Embedding(tgt_vocab, d_model)
        self.register_buffer("pe", sinusoids(max_len, d_model), persistent=False)
        self.dropout = nn.Dropout(dropout)
        sizes = d_model, num_heads, d_ff, dropout
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.out_proj = nn.Linear(d_model, tgt_vocab)

    def encode(self, src):
        """Source ids to memory."""
        visible = self._real(src)  # [B, 1, 1, T_src]
        x = self._embed(self.src_emb, src)  # [B, T_src, d_model]
        for layer in self.encoder:
            x = layer(x, visible)  # [B, T_src, d_model]
        return x

    def decode(self, tgt, memory, src):
        """Target ids and memory to logits."""
        tokens = tgt.shape[1]
        causal = torch.ones(tokens, tokens, dtype=torch.bool, device=tgt.device).tril()  # [T_tgt, T_tgt]
        itself = torch.eye(tokens, dtype=torch.bool, device=tgt.device)  # so that no row is left with nothing
        own = (causal & self._real(tgt)) | itself  # [B, 1, T_tgt, T_tgt]
        x = self._embed(self.tgt_emb, tgt)  # [B, T_tgt, d_model]
        for layer in self.decoder:
            x = layer(x, memory, own, self._real(src))  # [B, T_tgt, d_model]
        return self.out_proj(x)  # [B, T_tgt, tgt_vocab]

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)  # [B, T_tgt, tgt_vocab]

    def _real(self, ids):
        """Which keys are no padding, [B, 1, 1, T]."""
        return (ids != self.pad_id)[:, None, None, :]

    def _embed(self, embedding, ids):
        """Scaled token vectors plus positions."""
        x = embedding(ids) * math.sqrt(embedding.embedding_dim)  # [B, T, d_model]
        return self.dropout(x + self.pe[: ids.shape[1]].to(x.dtype))  # [B, T, d_model]


def sinusoids(max_len, d_model):
    """The table of positions, float64 [max_len, d_model]: sines in even columns, cosines in odd ones."""
    position = torch.arange(max_len, dtype=torch.float64)[:, None]  # [max_len, 1]
    column = torch.arange(d_model)  # [d_model]
    angle = position / 10000 ** ((column - column % 2) / d_model).double()  # [max_len, d_model]
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())  # [max_len, d_model]


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each sum normalised."""

    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = feed_forward(d_model, d_ff)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, visible):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, visible)))  # [B, T_src, d_model]
        return self.norm2(x + self.dropout(self.ffn(x)))  # [B, T_src, d_model]


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward, each sum normalised."""

    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.cross_attn = Attention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.ffn = feed_forward(d_model, d_ff)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, own, other):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, own)))  # [B, T_tgt, d_model]
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, other)))  # [B, T_tgt, d_model]
        return self.norm3(x + self.dropout(self.ffn(x)))  # [B, T_tgt, d_model]


def feed_forward(d_model, d_ff):
    """Linear, ReLU, Linear."""
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


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
        weights = scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)  # [B, H, Tq, Tk]
        mixed = weights @ v  # [B, H, Tq, d_head]
        return self.o(mixed.transpose(1, 2).flatten(2))  # [B, Tq, d_model]

    def split(self, x):
        """[B, T, d_model] as [B, H, T, d_head]."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
