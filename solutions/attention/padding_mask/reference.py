"""Padding masks by broadcasting: a column of queries against a row of keys."""

import numpy as np


def padding_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
    return ids != pad_id  # [B, T]


def decoder_self_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
    real = padding_mask(ids, pad_id)  # [B, T]
    causal = np.tri(ids.shape[1], dtype=bool)  # [T, T]
    return real[:, None, :, None] & real[:, None, None, :] & causal  # [B, 1, T, T]


def cross_mask(tgt_ids: np.ndarray, src_ids: np.ndarray, pad_id: int) -> np.ndarray:
    queries = padding_mask(tgt_ids, pad_id)[:, None, :, None]  # [B, 1, T_tgt, 1]
    keys = padding_mask(src_ids, pad_id)[:, None, None, :]  # [B, 1, 1, T_src]
    return queries & keys  # [B, 1, T_tgt, T_src]
