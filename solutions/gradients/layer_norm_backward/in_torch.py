"""The chain rule through Ba, Kiros and Hinton 2016, section 3, in PyTorch."""

import torch


def layer_norm_backward(
    dy: torch.Tensor, x: torch.Tensor, gamma: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)  # [..., 1], [..., 1]
    rstd = (variance + eps).rsqrt()  # [..., 1]
    normal = (x - mean) * rstd  # [..., d_model]
    dnormal = dy * gamma  # [..., d_model]
    along = (dnormal * normal).mean(dim=-1, keepdim=True)  # [..., 1]
    dx = rstd * (dnormal - dnormal.mean(dim=-1, keepdim=True) - normal * along)  # [..., d_model]
    width = x.shape[-1]
    dgamma = (dy * normal).reshape(-1, width).sum(dim=0)  # [d_model]
    dbeta = dy.reshape(-1, width).sum(dim=0)  # [d_model]
    return dx, dgamma, dbeta
