"""Shoeybi et al. 2019, section 3: the first matrix cut by columns, the second by rows."""

import numpy as np


def mlp_rank(x, w1, b1, w2, b2, grad, all_reduce):
    before = x @ w1 + b1  # [T, d_ff/N]
    hidden = np.maximum(before, 0)  # [T, d_ff/N]
    output = all_reduce(hidden @ w2) + b2  # [T, d_model]
    d_hidden = grad @ w2.T  # [T, d_ff/N]
    d_before = d_hidden * (before > 0)  # [T, d_ff/N]
    d_x = all_reduce(d_before @ w1.T)  # [T, d_model]
    d_w1, d_b1 = x.T @ d_before, d_before.sum(axis=0)  # [d_model, d_ff/N], [d_ff/N]
    d_w2, d_b2 = hidden.T @ grad, grad.sum(axis=0)  # [d_ff/N, d_model], [d_model]
    return output, d_x, d_w1, d_b1, d_w2, d_b2
