"""Ba, Kiros and Hinton 2016, section 3, for each token by itself, in PyTorch."""

import torch


def layer_norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)  # [..., 1], [..., 1]
    return gamma * (x - mean) * (variance + eps).rsqrt() + beta  # [..., d_model]
