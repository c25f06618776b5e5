"""Vaswani et al. 2017, section 3.1: N layers on one memory, pre-norm (Xiong et al. 2020)."""

import math

import numpy as np


def decoder_stack(x, memory, layers, num_heads):
    """The residual stream before the first layer and after each."""
    states = [x]  # h_0 [T_tgt, d_model]
    for params in layers:
        states.append(decoder_layer(states[-1], memory, params, num_heads))  # h_i [T_tgt, d_model]
    return states  # N + 1 of [T_tgt, d_model]


def decoder_layer(x, memory, params, num_heads):
    """Three sublayers, each added to what it was given."""
    causal = np.tril(np.ones((len(x), len(x)), dtype=bool))  # [T_tgt, T_tgt]
    normed = layer_norm(x)  # [T_tgt, d_model]
    x = x + attention(normed, normed, params["self_attention"], num_heads, causal)  # [T_tgt, d_model]
    x = x + attention(layer_norm(x), layer_norm(memory), params["cross_attention"], num_heads)
    return x + feed_forward(layer_norm(x), params["feed_forward"])  # [T_tgt, d_model]


def layer_norm(x, eps=1e-5):
    """Mean 0 and variance 1 in every row, without gamma and beta."""
    centred = x - x.mean(axis=-1, keepdims=True)  # [T, d_model]
    variance = (centred**2).mean(axis=-1, keepdims=True)  # [T, 1]
    return centred / np.sqrt(variance + eps)  # [T, d_model]


def attention(x_q, x_kv, weights, num_heads, visible=None):
    """Multi-head attention of `x_q` to `x_kv`, where `visible` is True."""
    q = split_heads(x_q @ weights["q"], num_heads)  # [H, Tq, d_head]
    k = split_heads(x_kv @ weights["k"], num_heads)  # [H, Tk, d_head]
    v = split_heads(x_kv @ weights["v"], num_heads)  # [H, Tk, d_head]
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])  # [H, Tq, Tk]
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)  # [H, Tq, Tk]
    heads = softmax(scores) @ v  # [H, Tq, d_head]
    merged = heads.transpose(1, 0, 2).reshape(len(x_q), -1)  # [Tq, d_model]
    return merged @ weights["o"]  # [Tq, d_model]


def split_heads(x, num_heads):
    """`[T, d_model]` as `[H, T, d_head]`."""
    return x.reshape(len(x), num_heads, -1).transpose(1, 0, 2)  # [H, T, d_head]


def softmax(scores):
    """Rows of probabilities."""
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))  # [H, Tq, Tk]
    return exps / exps.sum(axis=-1, keepdims=True)  # [H, Tq, Tk]


def feed_forward(x, weights):
    """Position-wise, ReLU, no biases."""
    hidden = np.maximum(x @ weights["w1"], 0)  # [T, d_ff]
    return hidden @ weights["w2"]  # [T, d_model]
