"""Liu et al. 2023, with the output and the log-sum of each block."""

import math

import numpy as np


def merge(first, second):
    (output_1, log_sum_1), (output_2, log_sum_2) = first, second
    log_sum = np.logaddexp(log_sum_1, log_sum_2)  # [T, 1]
    finite = np.where(np.isinf(log_sum), 0, log_sum)  # [T, 1], for rows that have seen no key
    share_1, share_2 = np.exp(log_sum_1 - finite), np.exp(log_sum_2 - finite)  # [T, 1] each
    return share_1 * output_1 + share_2 * output_2, log_sum  # [T, d_v], [T, 1]


def attend(q, k, v, is_diagonal):
    """The pair of one block of keys; on the diagonal a query sees the keys up to its own."""
    scores = q @ k.T / math.sqrt(q.shape[-1])  # [T, T]
    if is_diagonal:
        scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)  # [T, T]
    maximum = scores.max(axis=-1, keepdims=True)  # [T, 1]
    powers = np.exp(scores - maximum)  # [T, T]
    total = powers.sum(axis=-1, keepdims=True)  # [T, 1]
    return powers @ v / total, maximum + np.log(total)  # [T, d_v], [T, 1]


def ring_attention(q, k, v, rank, size, causal, shift):
    pair = attend(q, k, v, causal)  # [T, d_v], [T, 1]
    for hop in range(1, size):
        k, v = shift(k), shift(v)  # [T, d_k], [T, d_v], of rank - hop
        if not causal or hop <= rank:
            pair = merge(pair, attend(q, k, v, False))  # [T, d_v], [T, 1]
    return pair[0]  # [T, d_v]
