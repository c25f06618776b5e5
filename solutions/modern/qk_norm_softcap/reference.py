"""Henry et al. 2020 (norm), Gemma Team 2024 (cap) and OpenAI 2025 (sink)."""

import math

import numpy as np


def qk_norm_softcap(q, k, v, gamma_q, gamma_k, softcap, sink):
    """Causal attention with normalised queries and keys, capped scores and a sink for each head."""
    queries, keys, d_head = q.shape[2], k.shape[2], q.shape[3]
    q, k = rms_norm(q, gamma_q), rms_norm(k, gamma_k)  # [B, H, Tq, d_head], [B, H, Tk, d_head]
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(d_head)  # [B, H, Tq, Tk]
    scores = softcap * np.tanh(scores / softcap)  # [B, H, Tq, Tk]
    later = np.arange(keys) > np.arange(keys - queries, keys)[:, None]  # [Tq, Tk]
    scores = np.where(later, -np.inf, scores)  # [B, H, Tq, Tk]
    extra = sink[:, None, None]  # [H, 1, 1]
    largest = np.maximum(scores.max(axis=-1, keepdims=True), extra)  # [B, H, Tq, 1]
    powers = np.exp(scores - largest)  # [B, H, Tq, Tk]
    total = powers.sum(axis=-1, keepdims=True) + np.exp(extra - largest)  # [B, H, Tq, 1]
    return powers / total @ v  # [B, H, Tq, d_v]


def rms_norm(x, gamma):
    """Divide each vector by the root of its mean square plus 1e-6, and multiply by gamma."""
    mean_square = (x**2).mean(axis=-1, keepdims=True)  # [..., 1]
    return gamma * (x / np.sqrt(mean_square + 1e-6))  # [..., d_head]
