"""Pascanu, Mikolov and Bengio 2013, algorithm 1, over all tensors together, in PyTorch."""

import math

import torch


def clip_gradients(
    gradients: list[torch.Tensor | None], max_norm: float
) -> tuple[list[torch.Tensor | None], float]:
    if max_norm <= 0:
        raise ValueError(f"max_norm must be above 0, not {max_norm}")
    squares = [g.square().sum().item() for g in gradients if g is not None]  # one number a tensor
    norm = math.sqrt(sum(squares))  # of all entries as one vector
    if not math.isfinite(norm):
        raise ValueError(f"the norm of the gradients is {norm}")
    if norm <= max_norm:
        return list(gradients), norm
    return [None if g is None else g * (max_norm / norm) for g in gradients], norm
