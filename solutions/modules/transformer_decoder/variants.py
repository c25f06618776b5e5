"""Right answers to transformer_decoder in other styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class _LibraryAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"
        self.num_heads = num_heads
        for name in "qkvo":
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, x, context, mask=None):
        batch, tokens, width = x.shape
        q, k, v = (
            layer(source).view(batch, -1, self.num_heads, width // self.num_heads).transpose(1, 2)
            for layer, source in ((self.q, x), (self.k, context), (self.v, context))
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(mixed.transpose(1, 2).reshape(batch, tokens, width))


class _LibraryLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = _LibraryAttention(d_model, num_heads)
        self.cross_attn = _LibraryAttention(d_model, num_heads)
        self.ffn = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model), nn.Dropout(dropout)
        )
        self.norm1, self.norm2, self.norm3 = (
            nn.LayerNorm(d_model),
            nn.LayerNorm(d_model),
            nn.LayerNorm(d_model),
        )
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x, memory, tgt_mask, memory_mask):
        y = self.norm1(x)
        x = x + self.drop1(self.self_attn(y, y, tgt_mask))
        x = x + self.drop2(self.cross_attn(self.norm2(x), memory, memory_mask))
        return x + self.ffn(self.norm3(x))


class _FloatPositions(nn.Module):
    """A float32 table, [1, max_len, d_model], from the exponential of logarithms."""

    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(max_len).unsqueeze(1).float()
        rates = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * rates)
        pe[:, 1::2] = torch.cos(position * rates[: d_model // 2])
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])


class library_attention(nn.Module):
    """scaled_dot_product_attention, a float32 table in a module of its own, one dropout a sublayer."""

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
        self.d_model = d_model
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.positions = _FloatPositions(d_model, max_len, dropout)
        self.layers = nn.ModuleList(
            [_LibraryLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
        )
        self.norm = nn.LayerNorm(d_model)
        self.out_proj = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.tok_emb.weight = self.out_proj.weight

    def forward(self, ids, memory, tgt_mask=None, memory_mask=None):
        if tgt_mask is None:
            tgt_mask = ids.new_ones(ids.size(1), ids.size(1)).tril().bool()
        if memory_mask is not None:
            memory_mask = memory_mask.unsqueeze(1).unsqueeze(1)
        x = self.positions(self.tok_emb(ids) * self.d_model**0.5)
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask)
        return self.out_proj(self.norm(x))


class _Heads(nn.Module):
    """One head after the other; a mask of -1e9 on the scores."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError("heads do not divide the width")
        self.size = d_model // num_heads
        self.q, self.k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v, self.o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x, context, allowed):
        heads = []
        parts = [part.split(self.size, dim=-1) for part in (self.q(x), self.k(context), self.v(context))]
        for q, k, v in zip(*parts, strict=True):
            scores = torch.einsum("bqe,bke->bqk", q, k) / math.sqrt(self.size)
            if allowed is not None:
                scores = torch.where(allowed, scores, torch.full_like(scores, -1e9))
            powers = torch.exp(scores - scores.amax(-1, keepdim=True))
            heads.append(torch.einsum("bqk,bke->bqe", powers / powers.sum(-1, keepdim=True), v))
        return self.o(torch.cat(heads, dim=-1))


class _Sublayer(nn.Module):
    """A place for submodules."""


class head_by_head(nn.Module):
    """Heads in a loop, positions computed in forward, functional dropout with the mode, tied in forward
    order.
    """

    def __init__(
        self,
        num_layers,
        d_model,
        num_heads,
        d_ff,
        vocab_size,
        max_len=5000,  # noqa: ARG002 - positions are computed as they are needed
        dropout=0.1,
        tie_weights=True,
    ):
        super().__init__()
        self.p = dropout
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            layer = _Sublayer()
            layer.self_attn, layer.cross_attn = _Heads(d_model, num_heads), _Heads(d_model, num_heads)
            layer.ffn = nn.ModuleDict({"0": nn.Linear(d_model, d_ff), "2": nn.Linear(d_ff, d_model)})
            layer.norm1, layer.norm2, layer.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
            self.layers.append(layer)
        self.norm = nn.LayerNorm(d_model)
        self.out_proj = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            del self.out_proj.weight
            self.out_proj.register_parameter("weight", self.tok_emb.weight)

    def drop(self, x):
        return F.dropout(x, p=self.p, training=self.training)

    def forward(self, ids, memory, tgt_mask=None, memory_mask=None):
        width, tokens = self.tok_emb.weight.shape[1], ids.shape[1]
        place = torch.arange(tokens, device=ids.device, dtype=self.tok_emb.weight.dtype)
        columns = []
        for column in range(width):
            angle = place / 10000 ** (2 * (column // 2) / width)
            columns.append(angle.cos() if column % 2 else angle.sin())
        x = self.drop(math.sqrt(width) * self.tok_emb(ids) + torch.stack(columns, dim=-1))
        index = torch.arange(tokens, device=ids.device)
        own = index[None, :] <= index[:, None] if tgt_mask is None else tgt_mask
        other = None if memory_mask is None else memory_mask[:, None, :]
        for layer in self.layers:
            h = layer.norm1(x)
            x = x + self.drop(layer.self_attn(h, h, own))
            x = x + self.drop(layer.cross_attn(layer.norm2(x), memory, other))
            hidden = torch.relu(layer.ffn["0"](layer.norm3(x)))
            x = x + self.drop(layer.ffn["2"](hidden))
        return F.linear(self.norm(x), self.out_proj.weight)


class _Additive(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(d_model, num_heads)
        self.shape = (num_heads, d_model // num_heads)
        self.q, self.k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v, self.o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x, context, bias):
        q, k, v = (
            layer(s).unflatten(-1, self.shape)
            for layer, s in ((self.q, x), (self.k, context), (self.v, context))
        )
        scores = torch.einsum("bqhe,bkhe->bhqk", q * self.shape[1] ** -0.5, k) + bias
        return self.o(torch.einsum("bhqk,bkhe->bqhe", scores.softmax(-1), v).flatten(2))


class _AdditiveLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attn, self.cross_attn = _Additive(d_model, num_heads), _Additive(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (
            nn.LayerNorm(d_model),
            nn.LayerNorm(d_model),
            nn.LayerNorm(d_model),
        )


class additive_masks(nn.Module):
    """Masks as additive biases of the dtype's lowest value; one dropout module for all places."""

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
        self.out_proj = nn.Linear(d_model, vocab_size, bias=False)
        self.out_proj.weight = self.tok_emb.weight if tie_weights else self.out_proj.weight
        self.layers = nn.ModuleList([_AdditiveLayer(d_model, num_heads, d_ff) for _ in range(num_layers)])
        self.norm, self.drop = nn.LayerNorm(d_model), nn.Dropout(dropout)
        rates = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        angles = torch.outer(torch.arange(max_len, dtype=torch.float64), rates)
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]
        self.register_buffer("table", table.float())

    def forward(self, ids, memory, tgt_mask=None, memory_mask=None):
        length = ids.shape[1]
        x = self.tok_emb(ids) * self.tok_emb.embedding_dim**0.5 + self.table[:length]
        lowest = torch.finfo(x.dtype).min
        own = torch.zeros(length, length, dtype=x.dtype, device=x.device)
        hidden = torch.ones_like(own).triu(1).bool() if tgt_mask is None else tgt_mask.logical_not()
        own = own.masked_fill(hidden, lowest)
        other = x.new_zeros(memory.shape[0], 1, 1, memory.shape[1])
        if memory_mask is not None:
            other = other.masked_fill(memory_mask.logical_not()[:, None, None], lowest)
        x = self.drop(x)
        for layer in self.layers:
            normed = layer.norm1(x)
            x = x + self.drop(layer.self_attn(normed, normed, own))
            x = x + self.drop(layer.cross_attn(layer.norm2(x), memory, other))
            x = x + self.drop(layer.ffn(layer.norm3(x)))
        return self.out_proj(self.norm(x))
