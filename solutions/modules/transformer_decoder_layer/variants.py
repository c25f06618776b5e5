"""Right answers to transformer_decoder_layer in other styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class _Four(nn.Module):
    """The parameters of an attention; the styles differ in what they do with them."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))


class _Library(_Four):
    """scaled_dot_product_attention with a boolean mask."""

    def forward(self, x, source, mask):
        q, k, v = (
            linear(rows).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for linear, rows in ((self.q, x), (self.k, source), (self.v, source))
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(mixed.transpose(1, 2).reshape(x.shape))


class library_attention(nn.Module):
    """scaled_dot_product_attention; masks always made; functional dropout."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.self_attn, self.cross_attn = _Library(d_model, num_heads), _Library(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if tgt_mask is None:
            tgt_mask = torch.ones(x.shape[1], x.shape[1], device=x.device).tril().bool()
        if memory_mask is None:
            memory_mask = torch.ones(memory.shape[:2], dtype=torch.bool, device=x.device)
        h = self.norm1(x)
        x = x + F.dropout(self.self_attn(h, h, tgt_mask), self.p, self.training)
        h = self.norm2(x)
        x = x + F.dropout(self.cross_attn(h, memory, memory_mask[:, None, None, :]), self.p, self.training)
        return x + F.dropout(self.ffn(self.norm3(x)), self.p, self.training)


class _Einsum(_Four):
    """einsum with named axes, the lowest number for hidden scores."""

    def forward(self, x, source, hidden):
        q, k, v = (
            part.view(*part.shape[:2], self.num_heads, -1)
            for part in (self.q(x), self.k(source), self.v(source))
        )
        scores = torch.einsum("bthe,bshe->bhts", q, k) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(hidden, torch.finfo(x.dtype).min)
        return self.o(torch.einsum("bhts,bshe->bthe", scores.softmax(-1), v).flatten(2))


class hidden_where_true(nn.Module):
    """Masks turned round inside (True hides), three dropouts, sublayers in a loop."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1):
        super().__init__()
        self.self_attn = _Einsum(d_model, num_heads)
        self.cross_attn = _Einsum(d_model, num_heads)
        self.ffn = nn.ModuleDict({"0": nn.Linear(d_model, d_ff), "2": nn.Linear(d_ff, d_model)})
        for name in ("norm1", "norm2", "norm3"):
            setattr(self, name, nn.LayerNorm(d_model))
        self.drops = nn.ModuleList(nn.Dropout(dropout) for _ in range(3))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        position = torch.arange(x.size(1), device=x.device)
        later = position[None] > position[:, None] if tgt_mask is None else tgt_mask.logical_not()
        absent = torch.zeros_like(memory[:, :, 0], dtype=torch.bool) if memory_mask is None else ~memory_mask
        sublayers = (
            lambda h: self.self_attn(h, h, later),
            lambda h: self.cross_attn(h, memory, absent.unsqueeze(1).unsqueeze(1)),
            lambda h: self.ffn["2"](torch.relu(self.ffn["0"](h))),
        )
        for sublayer, norm, drop in zip(
            sublayers, (self.norm1, self.norm2, self.norm3), self.drops, strict=True
        ):
            x = drop(sublayer(norm(x))) + x
        return x


class _HeadByHead(_Four):
    """A loop over the heads, an additive mask of -1e9."""

    def forward(self, x, source, allowed):
        width = x.shape[-1] // self.num_heads
        bias = torch.where(allowed, 0.0, -1e9).to(x.dtype)
        q, k, v = (
            part.split(width, -1)
            for part in (F.linear(x, self.q.weight, self.q.bias), self.k(source), self.v(source))
        )
        mixed = [
            torch.bmm(torch.softmax(torch.baddbmm(bias, q[h], k[h].mT, alpha=width**-0.5), -1), v[h])
            for h in range(self.num_heads)
        ]
        return self.o(torch.cat(mixed, -1))


class head_by_head(nn.Module):
    """Heads in a loop; layer norm by hand; a causal buffer; nothing dropped by a mask drawn by hand."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0
        self.dropout = dropout
        self.register_buffer("causal", torch.ones(64, 64, dtype=torch.bool).tril(), persistent=False)
        self.self_attn, self.cross_attn = _HeadByHead(d_model, num_heads), _HeadByHead(d_model, num_heads)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model, eps=1e-5) for _ in range(3))
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def _drop(self, x):
        if not self.training or self.dropout == 0:
            return x
        kept = torch.rand_like(x) >= self.dropout
        return torch.where(kept, x / max(1 - self.dropout, 1e-9), 0.0)

    @staticmethod
    def _normed(norm, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight + norm.bias

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        batch, tokens, _ = x.shape
        own = self.causal[:tokens, :tokens] if tgt_mask is None else tgt_mask
        read = memory.new_ones(memory.shape[:2], dtype=torch.bool) if memory_mask is None else memory_mask
        h = self._normed(self.norm1, x)
        x = x + self._drop(self.self_attn(h, h, own.expand(batch, -1, -1)))
        h = self._normed(self.norm2, x)
        x = x + self._drop(self.cross_attn(h, memory, read[:, None].expand(-1, tokens, -1)))
        return x + self._drop(self.ffn(self._normed(self.norm3, x)))
