"""Mixtral's routing with Switch's balancing loss."""

import torch
from torch import nn


class MixtureOfExperts(nn.Module):
    """A router and its experts; N below is B * T."""

    def __init__(self, d_model, d_ff, num_experts, top_k):
        super().__init__()
        if not 1 <= top_k <= num_experts:
            raise ValueError(f"top_k={top_k} is not between 1 and num_experts={num_experts}")
        self.top_k = top_k
        self.router = nn.Linear(d_model, num_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
            for _ in range(num_experts)
        )

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])  # [N, d_model]
        logits = self.router(tokens)  # [N, num_experts]
        top, chosen = logits.topk(self.top_k, dim=-1)  # each [N, top_k]
        weights = top.softmax(dim=-1)  # [N, top_k]
        output = torch.zeros_like(tokens)  # [N, d_model]
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)  # each [number of tokens of the expert]
            given = expert(tokens[token]) * weights[token, slot, None]  # [tokens of the expert, d_model]
            output = output.index_add(0, token, given)  # [N, d_model]
        return output.view(x.shape), self._balance(logits, chosen)

    def _balance(self, logits, chosen):
        num_experts = logits.shape[-1]
        counts = torch.bincount(chosen.flatten(), minlength=num_experts)  # [num_experts]
        shares = counts.to(logits.dtype) / chosen.numel()  # [num_experts], f
        probabilities = logits.softmax(dim=-1).mean(dim=0)  # [num_experts], P
        return num_experts * (shares * probabilities).sum()  # []
