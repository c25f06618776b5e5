"""Rajbhandari et al. 2020, section 5, in PyTorch."""

import torch
from torch.nn.functional import pad


def zero_step(
    parameter,
    gradient,
    m,
    v,
    step,
    rank,
    size,
    lr,
    betas,
    eps,
    weight_decay,
    reduce_scatter,
    all_gather,
):
    padding = (0, size * len(m) - len(parameter))
    mean = reduce_scatter(pad(gradient, padding)) / size  # [S]
    part = pad(parameter, padding)[rank * len(m) : (rank + 1) * len(m)]  # [S]
    m = torch.lerp(m, mean, 1 - betas[0])  # [S]
    v = betas[1] * v + (1 - betas[1]) * mean.square()  # [S]
    root = (v / (1 - betas[1] ** step)).sqrt() + eps  # [S]
    part = part * (1 - lr * weight_decay) - lr * m / (1 - betas[0] ** step) / root  # [S]
    return torch.cat(all_gather(part))[: len(parameter)], m, v  # [P], [S], [S]
