"""Vaswani et al. 2017, section 3.1, with the layer norms in front, in PyTorch."""

import math

import torch

LayerParams = dict[str, dict[str, torch.Tensor]]


def decoder_layer(x: torch.Tensor, memory: torch.Tensor, params: LayerParams, num_heads: int) -> torch.Tensor:
    causal = torch.ones(len(x), len(x), dtype=torch.bool, device=x.device).tril()  # [T_tgt, T_tgt]
    normed = layer_norm(x)  # [T_tgt, d_model]
    x = x + attention(normed, normed, params["self_attention"], num_heads, causal)  # [T_tgt, d_model]
    x = x + attention(layer_norm(x), layer_norm(memory), params["cross_attention"], num_heads)
    weights = params["feed_forward"]
    return x + (layer_norm(x) @ weights["w1"]).relu() @ weights["w2"]  # [T_tgt, d_model]


def layer_norm(x: torch.Tensor) -> torch.Tensor:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)  # [T, 1], [T, 1]
    return (x - mean) * (variance + 1e-5).rsqrt()  # [T, d_model]


def attention(
    x_q: torch.Tensor,
    x_kv: torch.Tensor,
    weights: dict[str, torch.Tensor],
    num_heads: int,
    visible: torch.Tensor | None = None,
) -> torch.Tensor:
    q, k, v = (
        (x @ weights[name]).unflatten(-1, (num_heads, -1)).transpose(0, 1)  # [H, T, d_head]
        for x, name in ((x_q, "q"), (x_kv, "k"), (x_kv, "v"))
    )
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [H, Tq, Tk]
    if visible is not None:
        scores = scores.masked_fill(~visible, float("-inf"))  # [H, Tq, Tk]
    heads = scores.softmax(dim=-1) @ v  # [H, Tq, d_head]
    return heads.transpose(0, 1).flatten(start_dim=1) @ weights["o"]  # [Tq, d_model]
