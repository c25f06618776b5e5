"""As masks are written for FlexAttention: functions of two indices, combined, then called on a grid."""

import numpy as np


def and_masks(*masks):
    return lambda q, k: np.logical_and.reduce([mask(q, k) for mask in masks])


def or_masks(*masks):
    return lambda q, k: np.logical_or.reduce([mask(q, k) for mask in masks])


def sliding_window_mask(query_len, window, key_len=None, num_sinks=0):
    key_len = query_len if key_len is None else key_len
    if window < 1 or num_sinks < 0 or key_len < query_len:
        raise ValueError("no such mask")
    offset = key_len - query_len
    causal = lambda q, k: q + offset >= k  # noqa: E731  # as such masks are written
    near = lambda q, k: q + offset - k < window  # noqa: E731
    sink = lambda q, k: (k < num_sinks) & (q >= 0)  # noqa: E731
    q, k = np.meshgrid(np.arange(query_len), np.arange(key_len), indexing="ij")
    return and_masks(causal, or_masks(near, sink))(q, k)
