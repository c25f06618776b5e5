"""Dettmers et al. 2022, sections 2.1 and 3.1, in PyTorch."""

import torch


def quantize_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = x.abs().amax(dim=-1, keepdim=True) / 127  # [..., 1]
    q = (x / scale.where(scale != 0, 1.0)).round().to(torch.int8)  # [..., n]
    return q, scale


def int8_linear(x: torch.Tensor, w_q: torch.Tensor, w_scale: torch.Tensor) -> torch.Tensor:
    x_q, x_scale = quantize_rows(x)  # [..., d_in], [..., 1]
    sums = x_q.int() @ w_q.int().T  # [..., d_out]
    return sums.to(x.dtype) * x_scale * w_scale[:, 0]  # [..., d_out]
