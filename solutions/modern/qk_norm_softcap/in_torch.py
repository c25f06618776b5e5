"""Henry et al. 2020 (norm), Gemma Team 2024 (cap) and OpenAI 2025 (sink), in PyTorch."""

import math

import torch


def qk_norm_softcap(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    gamma_q: torch.Tensor,
    gamma_k: torch.Tensor,
    softcap: float,
    sink: torch.Tensor,
) -> torch.Tensor:
    queries, keys = q.shape[2], k.shape[2]
    q, k = rms_norm(q, gamma_q), rms_norm(k, gamma_k)  # [B, H, Tq, d_head], [B, H, Tk, d_head]
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, Tq, Tk]
    scores = softcap * torch.tanh(scores / softcap)  # [B, H, Tq, Tk]
    later = torch.ones(queries, keys, dtype=torch.bool, device=q.device).triu(keys - queries + 1)  # [Tq, Tk]
    extra = sink[:, None, None].expand(*scores.shape[:-1], 1)  # [B, H, Tq, 1]
    joined = torch.cat([scores.masked_fill(later, float("-inf")), extra], dim=-1)  # [B, H, Tq, Tk + 1]
    return joined.softmax(dim=-1)[..., :-1] @ v  # [B, H, Tq, d_v]


def rms_norm(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return gamma * x * (x.square().mean(dim=-1, keepdim=True) + 1e-6).rsqrt()  # [..., d_head]
