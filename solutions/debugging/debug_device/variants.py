"""Right answers to debug_device in other styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class _Linears(nn.Module):
    """The three layers."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.max_len = max_len
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))

    def scores(self, x):
        return self.q(x) @ self.k(x).mT / math.sqrt(x.shape[-1])


class fills_the_scores(_Linears):
    """A persistent buffer, and no second mask: hidden scores are filled."""

    def __init__(self, d_model, max_len):
        super().__init__(d_model, max_len)
        self.register_buffer("mask", torch.triu(torch.ones(max_len, max_len, dtype=torch.bool), 1))

    def forward(self, x):
        later = self.mask[: x.size(1), : x.size(1)]
        return self.scores(x).masked_fill(later, -1e9).softmax(-1) @ self.v(x)


class makes_the_mask_beside_x(_Linears):
    """No buffer at all: the triangle is made where x is, call by call."""

    def forward(self, x):
        visible = torch.ones(x.shape[1], x.shape[1], device=x.device).tril() > 0
        scores = self.scores(x)
        return torch.where(visible, scores, torch.finfo(x.dtype).min).softmax(-1) @ self.v(x)


class keeps_an_additive_mask(_Linears):
    """A float buffer of zeros and -inf, cast to the scores' dtype."""

    def __init__(self, d_model: int, max_len: int):
        super().__init__(d_model, max_len)
        self.register_buffer("bias", torch.full((max_len, max_len), -math.inf).triu(1))

    def forward(self, x):
        tokens = x.shape[1]
        return F.softmax(self.scores(x) + self.bias[:tokens, :tokens].to(x.dtype), dim=2) @ self.v(x)


class follows_the_scores(_Linears):
    """zeros_like and new_ones follow the tensor that they are given; a scalar tensor may be anywhere."""

    def __init__(self, d_model, max_len):
        super().__init__(d_model, max_len)
        self.hidden = torch.tensor(-torch.inf)

    def forward(self, x):
        scores = self.scores(x)
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        bias = torch.zeros_like(scores).masked_fill(later, float(self.hidden))
        return (scores + bias).softmax(-1) @ self.v(x)


class library_attention(_Linears):
    """scaled_dot_product_attention with is_causal."""

    def forward(self, x):
        return F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x), is_causal=True)
