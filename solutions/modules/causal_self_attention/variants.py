"""Right answers to causal_self_attention in other styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class einsum_and_a_large_negative_number(nn.Module):
    """einsum with named axes, unflatten, a mask of -1e9 from tril."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "every head needs the same width"
        self.heads = num_heads
        self.qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        """Axes: b batch, t queries, s keys, h heads, e columns of a head."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(2)
        scores = torch.einsum("bthe,bshe->bhts", q * q.shape[-1] ** -0.5, k)
        allowed = torch.tril(torch.ones_like(scores))
        weights = torch.softmax(scores.masked_fill(allowed == 0, -1e9), dim=-1)
        return self.out(torch.einsum("bhts,bshe->bthe", weights, v).flatten(2)), weights


class head_by_head(nn.Module):
    """A loop over the heads, columns by slices, positions compared in place of a triangle."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError("num_heads must divide d_model")
        self.d_model, self.d_head = d_model, d_model // num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).split(self.d_model, dim=-1)
        position = torch.arange(x.size(1), device=x.device)
        later = position[None, :] > position[:, None]
        outputs, weights = [], []
        for start in range(0, self.d_model, self.d_head):
            own = slice(start, start + self.d_head)
            scores = torch.bmm(q[..., own], k[..., own].mT) / math.sqrt(self.d_head)
            scores = scores.masked_fill(later, torch.finfo(x.dtype).min)
            weights.append(F.softmax(scores, dim=2))
            outputs.append(torch.bmm(weights[-1], v[..., own]))
        return [self.out(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)]


class library_attention(nn.Module):
    """scaled_dot_product_attention for the output, the weights once more for those who ask; a buffer."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads=} does not divide {d_model=}")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("mask", torch.ones(512, 512, dtype=torch.bool).tril(), persistent=False)

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        tokens = x.shape[1]
        bias = torch.zeros_like(self.mask[:tokens, :tokens], dtype=x.dtype)
        bias = bias.masked_fill(~self.mask[:tokens, :tokens], -torch.inf)
        weights = (q @ k.mT * q.shape[-1] ** -0.5 + bias).softmax(-1)
        return self.out(mixed.transpose(1, 2).flatten(2)), weights


class query_by_query(nn.Module):
    """Another way: let each query meet only the keys up to itself, without a mask.

    No mask: each query meets the keys up to itself, and the rest of its row is filled with zeros.
    """

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads must be 0")
        self.h = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        batch, tokens, d_model = x.size()
        q, k, v = self.qkv(x).reshape(batch, tokens, 3 * self.h, -1).permute(0, 2, 1, 3).chunk(3, 1)
        rows, weights = [], []
        for i in range(tokens):
            scores = (q[:, :, i, None] * k[:, :, : i + 1]).sum(-1) / (d_model / self.h) ** 0.5
            powers = torch.exp(scores - scores.amax(-1, keepdim=True))
            row = powers / powers.sum(-1, keepdim=True)
            rows.append((row[..., None] * v[:, :, : i + 1]).sum(2).flatten(1))
            weights.append(F.pad(row, (0, tokens - i - 1)))
        return self.out(torch.stack(rows, 1)), torch.stack(weights, 2)


class batch_and_heads_in_one_axis(nn.Module):
    """One baddbmm over batch times heads; float64 inside, cast back at the end."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("no remainder, please")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv = F.linear(x.double(), self.qkv.weight.double()).view(batch, tokens, 3, self.num_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).flatten(1, 2)
        hidden = torch.full((tokens, tokens), -torch.inf, dtype=q.dtype, device=x.device).triu(1)
        weights = torch.baddbmm(hidden, q, k.mT, alpha=q.shape[-1] ** -0.5).softmax(-1)
        mixed = torch.bmm(weights, v).unflatten(0, (batch, -1)).movedim(1, 2).flatten(2)
        return self.out(mixed.to(x.dtype)), weights.to(x.dtype).unflatten(0, (batch, -1))


class exp_of_log_probabilities(nn.Module):
    """The softmax as exp of scores less their logsumexp."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
        weights = torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True))
        return self.out((weights @ v).transpose(1, 2).flatten(2)), weights
