"""Shoeybi et al. 2019, section 3, in PyTorch."""

import torch


def mlp_rank(x, w1, b1, w2, b2, grad, all_reduce):
    before = torch.addmm(b1, x, w1)  # [T, d_ff/N]
    hidden = before.relu()  # [T, d_ff/N]
    output = all_reduce(hidden @ w2) + b2  # [T, d_model]
    d_before = (grad @ w2.T).where(before > 0, 0)  # [T, d_ff/N]
    d_x = all_reduce(d_before @ w1.T)  # [T, d_model]
    return output, d_x, x.T @ d_before, d_before.sum(dim=0), hidden.T @ grad, grad.sum(dim=0)
