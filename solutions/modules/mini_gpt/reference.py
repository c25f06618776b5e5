"""A decoder-only Transformer, pre-norm, as GPT-2 is built."""

import math

import torch
from torch import nn


class MiniGPT(nn.Module):
    """Embedding, blocks, final norm, head."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        self.embed = Embedding(vocab_size, d_model, max_len)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, d_ff) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.embed(ids)  # [B, T, d_model]
        for block in self.blocks:
            x = block(x)  # [B, T, d_model]
        return self.head(self.ln_f(x))  # [B, T, V]


class Embedding(nn.Module):
    """Token and learned position."""

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)

    def forward(self, ids):
        tokens, max_len = ids.shape[1], self.pos_embed.num_embeddings
        if tokens > max_len:
            raise ValueError(f"{tokens} tokens do not fit into max_len={max_len}.")
        positions = torch.arange(tokens, device=ids.device)  # [T]
        return self.token_embed(ids) + self.pos_embed(positions)  # [B, T, d_model]


class Block(nn.Module):
    """Pre-norm: each sublayer reads a normalised copy and is added to the stream."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.ln1 = nn.LayerNorm(d_model)
        self.attn = CausalSelfAttention(d_model, num_heads)
        self.ln2 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))  # [B, T, d_model]
        return x + self.mlp(self.ln2(x))  # [B, T, d_model]


class CausalSelfAttention(nn.Module):
    """All heads at once, each token over itself and those before it."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}.")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        tokens = x.shape[1]
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))  # each [B, H, T, d_head]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, T, T]
        visible = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).tril()  # [T, T]
        weights = scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)  # [B, H, T, T]
        mixed = (weights @ v).transpose(1, 2).flatten(2)  # [B, T, d_model]
        return self.out_proj(mixed)  # [B, T, d_model]

    def split(self, x):
        """[B, T, d_model] as [B, H, T, d_head]."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
