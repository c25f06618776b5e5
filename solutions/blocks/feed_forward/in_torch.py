"""Vaswani et al. 2017, section 3.3, equation 2, in PyTorch."""

import torch


def feed_forward(
    x: torch.Tensor, w1: torch.Tensor, b1: torch.Tensor, w2: torch.Tensor, b2: torch.Tensor
) -> torch.Tensor:
    return torch.relu(x @ w1 + b1) @ w2 + b2  # [..., d_model]
