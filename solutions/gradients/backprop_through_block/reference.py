"""The chain rule through a pre-norm decoder block: Vaswani et al. 2017; Ba, Kiros and Hinton 2016."""

import math

import numpy as np


def block_backward(dout, x, params, num_heads):
    """Run the forward pass, then take the gradient through its steps, from the last to the first."""
    p, scale = params, math.sqrt(x.shape[-1] // num_heads)
    a, normal1, rstd1 = layer_norm(x, p["norm1_gamma"], p["norm1_beta"])  # [B, T, d_model]
    q = split_heads(a @ p["w_q"], num_heads)  # [B, H, T, d_head]
    k = split_heads(a @ p["w_k"], num_heads)  # [B, H, T, d_head]
    v = split_heads(a @ p["w_v"], num_heads)  # [B, H, T, d_head]
    weights = causal_softmax(q @ k.swapaxes(-1, -2) / scale)  # [B, H, T, T]
    heads = merge_heads(weights @ v)  # [B, T, d_model]
    h = x + heads @ p["w_o"]  # [B, T, d_model]
    c, normal2, rstd2 = layer_norm(h, p["norm2_gamma"], p["norm2_beta"])  # [B, T, d_model]
    hidden = np.maximum(c @ p["w1"] + p["b1"], 0)  # [B, T, d_ff]

    d_b2 = over_tokens(dout)  # [d_model]
    dhidden, d_w2 = linear_backward(dout, hidden, p["w2"])  # [B, T, d_ff]
    dinner = np.where(hidden > 0, dhidden, 0)  # [B, T, d_ff]
    d_b1 = over_tokens(dinner)  # [d_ff]
    dc, d_w1 = linear_backward(dinner, c, p["w1"])  # [B, T, d_model]
    d_norm2_gamma, d_norm2_beta = over_tokens(dc * normal2), over_tokens(dc)
    dh = dout + norm_backward(dc * p["norm2_gamma"], normal2, rstd2)  # [B, T, d_model]

    dheads, d_w_o = linear_backward(dh, heads, p["w_o"])  # [B, T, d_model]
    dmixed = split_heads(dheads, num_heads)  # [B, H, T, d_head]
    dv = weights.swapaxes(-1, -2) @ dmixed  # [B, H, T, d_head]
    dweights = dmixed @ v.swapaxes(-1, -2)  # [B, H, T, T]
    total = (weights * dweights).sum(axis=-1, keepdims=True)  # [B, H, T, 1]
    dscores = weights * (dweights - total) / scale  # [B, H, T, T]
    dq = dscores @ k  # [B, H, T, d_head]
    dk = dscores.swapaxes(-1, -2) @ q  # [B, H, T, d_head]
    da_q, d_w_q = linear_backward(merge_heads(dq), a, p["w_q"])  # [B, T, d_model]
    da_k, d_w_k = linear_backward(merge_heads(dk), a, p["w_k"])  # [B, T, d_model]
    da_v, d_w_v = linear_backward(merge_heads(dv), a, p["w_v"])  # [B, T, d_model]
    da = da_q + da_k + da_v  # [B, T, d_model]
    d_norm1_gamma, d_norm1_beta = over_tokens(da * normal1), over_tokens(da)
    dx = dh + norm_backward(da * p["norm1_gamma"], normal1, rstd1)  # [B, T, d_model]
    attention = {"w_q": d_w_q, "w_k": d_w_k, "w_v": d_w_v, "w_o": d_w_o}
    feed_forward = {"w1": d_w1, "b1": d_b1, "w2": d_w2, "b2": d_b2}
    norm1 = {"norm1_gamma": d_norm1_gamma, "norm1_beta": d_norm1_beta}
    norm2 = {"norm2_gamma": d_norm2_gamma, "norm2_beta": d_norm2_beta}
    return dx, attention | feed_forward | norm1 | norm2


def layer_norm(x, gamma, beta, eps=1e-5):
    """The result, and what its backward pass needs."""
    centred = x - x.mean(axis=-1, keepdims=True)  # [B, T, d_model]
    rstd = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)  # [B, T, 1]
    return gamma * centred * rstd + beta, centred * rstd, rstd


def norm_backward(g, normal, rstd):
    """Back from the normalised rows: g loses its mean and its part along `normal`."""
    along = (g * normal).mean(axis=-1, keepdims=True)  # [B, T, 1]
    return rstd * (g - g.mean(axis=-1, keepdims=True) - normal * along)  # [B, T, d_model]


def linear_backward(dy, z, w):
    """The gradients of z w by z and by w."""
    return dy @ w.T, np.einsum("bti,bto->io", z, dy)  # [B, T, in], [in, out]


def over_tokens(dy):
    """The sum over batch and tokens."""
    return dy.sum(axis=(0, 1))  # [features]


def split_heads(z, num_heads):
    """`[B, T, H * d_head]` as `[B, H, T, d_head]`."""
    return z.reshape(*z.shape[:2], num_heads, -1).swapaxes(1, 2)  # [B, H, T, d_head]


def merge_heads(z):
    """`[B, H, T, d_head]` as `[B, T, H * d_head]`."""
    return z.swapaxes(1, 2).reshape(z.shape[0], z.shape[2], -1)  # [B, T, H * d_head]


def causal_softmax(scores):
    """Rows of probabilities over the keys that are not later."""
    later = np.triu(np.ones(scores.shape[-2:], dtype=bool), 1)  # [T, T]
    scores = np.where(later, -np.inf, scores)  # [B, H, T, T]
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))  # [B, H, T, T]
    return exps / exps.sum(axis=-1, keepdims=True)  # [B, H, T, T]
