"""Vaswani et al. 2017, section 3.2.3: queries from the decoder, keys and values from the encoder."""

import math

import numpy as np


def cross_attention(
    x_dec: np.ndarray, x_enc: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    q = x_dec @ w_q  # [B, T_tgt, d_k]
    k = x_enc @ w_k  # [B, T_src, d_k]
    v = x_enc @ w_v  # [B, T_src, d_v]
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])  # [B, T_tgt, T_src]
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))  # [B, T_tgt, T_src]
    weights = powers / powers.sum(axis=-1, keepdims=True)  # [B, T_tgt, T_src]
    return weights @ v, weights  # [B, T_tgt, d_v], [B, T_tgt, T_src]
