"""Right answers to transformer in other styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class _MultiHead(nn.Module):
    """scaled_dot_product_attention, the mask as it comes."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "num_heads must divide d_model"
        self.h = num_heads
        self.q, self.k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v, self.o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, query, context, mask):
        batch, tokens, width = query.shape
        q = self.q(query).view(batch, tokens, self.h, -1).transpose(1, 2)
        k = self.k(context).view(batch, context.size(1), self.h, -1).transpose(1, 2)
        v = self.v(context).view(batch, context.size(1), self.h, -1).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(mixed.transpose(1, 2).contiguous().view(batch, tokens, width))


class _Residual(nn.Module):
    """A place for a layer's submodules, and its one dropout."""

    def __init__(self, d_model, num_heads, d_ff, dropout, norms, attention=_MultiHead):
        super().__init__()
        self.self_attn = attention(d_model, num_heads)
        if norms == 3:
            self.cross_attn = attention(d_model, num_heads)
        for i in range(1, norms + 1):
            setattr(self, f"norm{i}", nn.LayerNorm(d_model))
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.drop = nn.Dropout(dropout)


class library_attention(nn.Module):
    """scaled_dot_product_attention; keys of padding hidden, padded queries as any other; a float32 table."""

    attention = _MultiHead

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
        self.pad_id, self.scale = pad_id, d_model**0.5
        self.src_emb = nn.Embedding(src_vocab, d_model, padding_idx=pad_id)
        self.tgt_emb = nn.Embedding(tgt_vocab, d_model, padding_idx=pad_id)
        sizes = (d_model, num_heads, d_ff, dropout)
        self.encoder = nn.ModuleList([_Residual(*sizes, 2, self.attention) for _ in range(num_layers)])
        self.decoder = nn.ModuleList([_Residual(*sizes, 3, self.attention) for _ in range(num_layers)])
        self.out_proj = nn.Linear(d_model, tgt_vocab)
        self.drop = nn.Dropout(dropout)
        table = torch.zeros(max_len, d_model)
        place = torch.arange(max_len).float().unsqueeze(1)
        rates = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2).float() / d_model)
        table[:, 0::2] = torch.sin(place * rates)
        table[:, 1::2] = torch.cos(place * rates)[:, : d_model // 2]
        self.register_buffer("table", table[None])

    def masks(self, ids):
        """Padding, [B, 1, 1, T], and padding with the future, [B, 1, T, T]; the first token is left to all
        who would see nothing."""
        keys = (ids != self.pad_id)[:, None, None]
        both = keys & torch.ones(ids.size(1), ids.size(1), device=ids.device).tril().bool()
        nothing = ~both.any(dim=-1, keepdim=True)
        return keys, both | nothing

    def encode(self, src):
        mask, _ = self.masks(src)
        x = self.drop(self.src_emb(src) * self.scale + self.table[:, : src.size(1)])
        for layer in self.encoder:
            x = layer.norm1(x + layer.drop(layer.self_attn(x, x, mask)))
            x = layer.norm2(x + layer.drop(layer.ffn(x)))
        return x

    def decode(self, tgt, memory, src):
        (_, own), (other, _) = self.masks(tgt), self.masks(src)
        x = self.drop(self.tgt_emb(tgt) * self.scale + self.table[:, : tgt.size(1)])
        for layer in self.decoder:
            x = layer.norm1(x + layer.drop(layer.self_attn(x, x, own)))
            x = layer.norm2(x + layer.drop(layer.cross_attn(x, memory, other)))
            x = layer.norm3(x + layer.drop(layer.ffn(x)))
        return self.out_proj(x)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)


class _Lowest(nn.Module):
    """One head after the other; hidden scores get the dtype's lowest value."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} % {num_heads} != 0")
        self.size = d_model // num_heads
        self.q, self.k, self.v, self.o = [nn.Linear(d_model, d_model) for _ in "qkvo"]

    def forward(self, query, context, mask):
        mask = mask.squeeze(1)
        heads = []
        parts = [part.split(self.size, -1) for part in (self.q(query), self.k(context), self.v(context))]
        for q, k, v in zip(*parts, strict=True):
            scores = torch.einsum("bqe,bke->bqk", q, k) * self.size**-0.5
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
            heads.append(torch.bmm(scores.softmax(dim=2).expand(-1, q.size(1), -1), v))
        return self.o(torch.cat(heads, dim=2))


class lowest_value_in_both_ends(library_attention):
    """Both ends of a mask must be real, as in the paper's code; the dtype's lowest value, no -inf."""

    attention = _Lowest

    def masks(self, ids):
        real = ids != self.pad_id
        both_ends = real[:, None, :, None] & real[:, None, None, :]
        keys = real[:, None, None, :]
        return keys, both_ends & torch.ones_like(both_ends).tril()


class _Zeroed(nn.Module):
    """-inf, and NaN rows set to zero before they spread."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads")
        self.shape = (num_heads, d_model // num_heads)
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, context, mask):
        pairs = ((self.q, query), (self.k, context), (self.v, context))
        q, k, v = (layer(x).unflatten(-1, self.shape) for layer, x in pairs)
        scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / math.sqrt(self.shape[1])
        visible = scores.detach().masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        powers = torch.exp((scores - visible.amax(-1, keepdim=True)).clamp(max=0)) * mask
        weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
        return self.o(torch.einsum("bhqk,bkhe->bqhe", weights, v).flatten(2))


class multiplied_masks(library_attention):
    """Masks multiplied into the powers, rows of padding all zero; positions computed at every call."""

    attention = _Zeroed

    def masks(self, ids):
        keys = (ids != self.pad_id).float()[:, None, None, :].to(self.src_emb.weight.dtype)
        return keys, torch.tril(keys.expand(-1, -1, ids.size(1), -1) * keys.transpose(-1, -2))


class flags_for_the_future(library_attention):
    """Padding masks for queries and keys of the encoder; the future from comparing positions."""

    def masks(self, ids):
        real = ids.ne(self.pad_id).unsqueeze(1).unsqueeze(2)
        at = torch.arange(ids.shape[1], device=ids.device)
        past = at.unsqueeze(0) <= at.unsqueeze(1)
        return real, torch.logical_or(torch.logical_and(real, past), torch.eq(at[:, None], at))
