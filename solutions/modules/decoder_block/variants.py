"""Right answers to decoder_block in other styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class _Attention(nn.Module):
    """The parameters of the attention; the styles differ in what they do with them."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)


class _Fused(_Attention):
    """scaled_dot_product_attention."""

    def forward(self, x):
        heads = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))


class library_attention(nn.Module):
    """Another way: let PyTorch's own scaled dot-product attention do scores, mask and softmax.

    scaled_dot_product_attention, an nn.Module for the feed-forward network, sums in one line.
    """

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = _Fused(d_model, num_heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(approximate="none"), nn.Linear(d_ff, d_model)
        )

    def forward(self, x):
        attended = self.attention(self.norm1(x)).add(x)
        return torch.add(self.ffn(self.norm2(attended)), attended)


class _Einsum(_Attention):
    """einsum, -1e9."""

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)) for part in self.qkv(x).chunk(3, -1))
        scores = torch.einsum("bthe,bshe->bhts", q, k) / k.shape[-1] ** 0.5
        seen = torch.ones_like(scores, dtype=torch.bool).tril()
        weights = torch.where(seen, scores, -1e9).softmax(-1)
        return self.out(torch.einsum("bhts,bshe->bthe", weights, v).flatten(2))


class everything_by_hand(nn.Module):
    """Layer norm and GELU from their formulas, a ModuleList in place of the Sequential."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        assert d_model % num_heads == 0
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = _Einsum(d_model, num_heads)
        self.ffn = nn.ModuleList([nn.Linear(d_model, d_ff), nn.Identity(), nn.Linear(d_ff, d_model)])

    def forward(self, x):
        x = x + self.attention(self._normed(x, self.norm1))
        hidden = self.ffn[0](self._normed(x, self.norm2))
        hidden = 0.5 * hidden * (1 + torch.erf(hidden / math.sqrt(2)))
        return x + self.ffn[2](hidden)

    @staticmethod
    def _normed(x, norm):
        centred = x - x.mean(-1, keepdim=True)
        return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5) * norm.weight + norm.bias


class _HeadByHead(_Attention):
    """A loop over the heads; a buffer for the mask."""

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.register_buffer("mask", torch.full((256, 256), -torch.inf).triu(1))

    def forward(self, x):
        parts = self.qkv(x).split(x.shape[-1] // self.num_heads, dim=-1)
        outputs = []
        for q, k, v in zip(*(parts[i * self.num_heads :][: self.num_heads] for i in range(3)), strict=True):
            scores = q @ k.mT / math.sqrt(q.shape[-1]) + self.mask[: x.shape[1], : x.shape[1]].to(x.dtype)
            outputs.append(F.softmax(scores, dim=-1) @ v)
        return self.out(torch.cat(outputs, -1))


class one_sublayer_a_method(nn.Module):
    """The stream is kept in a list; functional layer norm and GELU; a persistent buffer."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.d_model = d_model
        self.norm1 = nn.LayerNorm(d_model, eps=1e-5)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-5)
        self.attention = _HeadByHead(d_model, num_heads)
        self.ffn = nn.ModuleDict({"0": nn.Linear(d_model, d_ff), "2": nn.Linear(d_ff, d_model)})

    def _feed_forward(self, x):
        hidden = F.layer_norm(x, (self.d_model,), self.norm2.weight, self.norm2.bias)
        return self.ffn["2"](F.gelu(self.ffn["0"](hidden)))

    def forward(self, x):
        parts = [x, self.attention(self.norm1(x))]
        parts.append(self._feed_forward(sum(parts)))
        return torch.stack(parts).sum(0)
