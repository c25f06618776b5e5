"""Goodfellow et al. 2016, section 4.1, in PyTorch."""

import torch


def softmax(x: torch.Tensor, axis: int = -1) -> torch.Tensor:
    scores = x if x.is_floating_point() else x.double()  # [..., n, ...]
    powers = (scores - scores.amax(dim=axis, keepdim=True)).exp()  # [..., n, ...]
    return powers / powers.sum(dim=axis, keepdim=True)  # [..., n, ...]
