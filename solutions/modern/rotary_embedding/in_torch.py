"""Su et al. 2021, equation 34, in PyTorch."""

import torch


def rotary_embedding(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    d_head = x.shape[-1]
    if d_head % 2:
        raise ValueError(f"d_head={d_head} is odd: its numbers do not form pairs.")
    even = torch.arange(0, d_head, 2, dtype=torch.float64, device=x.device)  # [d_head/2]
    angles = positions[:, None] * base ** (-even / d_head)  # [T, d_head/2]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)  # [T, d_head/2]
    first, second = x[..., 0::2], x[..., 1::2]  # [..., T, d_head/2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(start_dim=-2)  # [..., T, d_head]
