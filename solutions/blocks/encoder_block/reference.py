"""Vaswani et al. 2017, sections 3.1 to 3.3: the encoder's layer."""

import math

import numpy as np


def encoder_block(x, params, num_heads, mask=None):
    """Two sublayers, each added to its input and normalised."""
    h = layer_norm(x + attention(x, params, num_heads, mask), params, "norm1")  # [B, T, d_model]
    return layer_norm(h + feed_forward(h, params), params, "norm2")  # [B, T, d_model]


def attention(x, params, num_heads, mask):
    """Multi-head self-attention; a query without visible keys gets 0."""
    q = split_heads(x @ params["w_q"], num_heads)  # [B, H, T, d_k]
    k = split_heads(x @ params["w_k"], num_heads)  # [B, H, T, d_k]
    v = split_heads(x @ params["w_v"], num_heads)  # [B, H, T, d_v]
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])  # [B, H, T, T]
    heads = masked_softmax(scores, True if mask is None else mask) @ v  # [B, H, T, d_v]
    merged = heads.swapaxes(1, 2).reshape(*x.shape[:2], -1)  # [B, T, H * d_v]
    return merged @ params["w_o"]  # [B, T, d_model]


def split_heads(x, num_heads):
    """`[B, T, H * width]` as `[B, H, T, width]`."""
    return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)  # [B, H, T, width]


def masked_softmax(scores, mask):
    """Rows of probabilities over the visible keys, zeros where there are none."""
    peak = np.max(scores, axis=-1, where=mask, initial=np.finfo(scores.dtype).min, keepdims=True)
    exps = np.where(mask, np.exp(np.minimum(scores - peak, 0)), 0)  # [B, H, T, T]
    total = exps.sum(axis=-1, keepdims=True)  # [B, H, T, 1]
    return exps / np.where(total == 0, 1, total)  # [B, H, T, T]


def feed_forward(h, params):
    """Position-wise, ReLU between two linear maps."""
    hidden = np.maximum(h @ params["w1"] + params["b1"], 0)  # [B, T, d_ff]
    return hidden @ params["w2"] + params["b2"]  # [B, T, d_model]


def layer_norm(x, params, name, eps=1e-5):
    """Mean 0 and variance 1 in every row, then gamma and beta."""
    centred = x - x.mean(axis=-1, keepdims=True)  # [B, T, d_model]
    variance = (centred**2).mean(axis=-1, keepdims=True)  # [B, T, 1]
    normed = centred / np.sqrt(variance + eps)  # [B, T, d_model]
    return params[f"{name}_gamma"] * normed + params[f"{name}_beta"]  # [B, T, d_model]
