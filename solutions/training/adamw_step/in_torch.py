"""Loshchilov and Hutter 2019, algorithm 2, in PyTorch."""

import torch


def adamw_step(
    parameter: torch.Tensor,
    gradient: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    step: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    beta1, beta2 = betas
    m = beta1 * m + (1 - beta1) * gradient  # [...]
    v = beta2 * v + (1 - beta2) * gradient.square()  # [...]
    update = m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps)  # [...]
    return parameter - lr * (update + weight_decay * parameter), m, v
