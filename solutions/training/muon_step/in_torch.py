"""Jordan et al. 2024, in PyTorch."""

import torch


def orthogonalize(matrix: torch.Tensor, steps: int = 5) -> torch.Tensor:
    norm = matrix.norm()
    x = matrix / norm.where(norm != 0, 1.0)  # [m, n]
    for _ in range(steps):
        gram = x @ x.mT  # [m, m]
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x  # [m, n]
    return x


def muon_step(
    weight: torch.Tensor,
    gradient: torch.Tensor,
    momentum: torch.Tensor,
    lr: float = 0.02,
    beta: float = 0.95,
) -> tuple[torch.Tensor, torch.Tensor]:
    momentum = beta * momentum + gradient  # [m, n]
    update = orthogonalize(gradient + beta * momentum)  # [m, n]
    rows, columns = weight.shape
    return weight - lr * max(1, rows / columns) ** 0.5 * update, momentum
