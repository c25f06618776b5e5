"""Vaswani et al. 2017, sections 3.1 to 3.3: the encoder's layer, in PyTorch."""

import math

import torch

Params = dict[str, torch.Tensor]


def encoder_block(
    x: torch.Tensor, params: Params, num_heads: int, mask: torch.Tensor | None = None
) -> torch.Tensor:
    h = layer_norm(x + attention(x, params, num_heads, mask), params, "norm1")  # [B, T, d_model]
    hidden = (h @ params["w1"] + params["b1"]).relu()  # [B, T, d_ff]
    return layer_norm(h + hidden @ params["w2"] + params["b2"], params, "norm2")  # [B, T, d_model]


def attention(x: torch.Tensor, params: Params, num_heads: int, mask: torch.Tensor | None) -> torch.Tensor:
    q, k, v = (
        (x @ params[name]).unflatten(-1, (num_heads, -1)).transpose(1, 2)  # [B, H, T, width]
        for name in ("w_q", "w_k", "w_v")
    )
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, T, T]
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # [B, H, T, T]
    weights = scores.softmax(dim=-1)  # [B, H, T, T]
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # a query that sees nothing has NaN before
    return (weights @ v).transpose(1, 2).flatten(start_dim=2) @ params["w_o"]  # [B, T, d_model]


def layer_norm(x: torch.Tensor, params: Params, name: str) -> torch.Tensor:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)  # [B, T, 1], [B, T, 1]
    normed = (x - mean) * (variance + 1e-5).rsqrt()  # [B, T, d_model]
    return params[f"{name}_gamma"] * normed + params[f"{name}_beta"]  # [B, T, d_model]
