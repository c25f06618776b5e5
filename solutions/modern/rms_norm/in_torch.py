"""Zhang and Sennrich 2019, section 3, for each token by itself, in PyTorch."""

import torch


def rms_norm(x: torch.Tensor, gamma: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    mean_square = x.square().mean(dim=-1, keepdim=True)  # [..., 1]
    return gamma * x * (mean_square + eps).rsqrt()  # [..., d_model]
