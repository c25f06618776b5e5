"""As Hugging Face has Mixtral: one_hot of the chosen experts, index_add_, a softmax in float32.

Fails: any_memory_layout, float64_keeps_its_digits.
"""

import torch
import torch.nn.functional as F
from torch import nn


class MixtureOfExperts(nn.Module):
    def __init__(self, d_model, d_ff, num_experts, top_k):
        super().__init__()
        if not 1 <= top_k <= num_experts:
            raise ValueError("top_k is a number of experts")
        self.top_k, self.num_experts = top_k, num_experts
        self.router = nn.Linear(d_model, num_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
            for _ in range(num_experts)
        )

    def forward(self, hidden_states):
        batch, length, width = hidden_states.shape
        hidden_states = hidden_states.view(-1, width)
        probabilities = F.softmax(self.router(hidden_states), dim=1, dtype=torch.float)
        weights, selected = torch.topk(probabilities, self.top_k, dim=-1)
        weights = (weights / weights.sum(dim=-1, keepdim=True)).to(hidden_states.dtype)
        final = torch.zeros_like(hidden_states)
        expert_mask = F.one_hot(selected, num_classes=self.num_experts).permute(2, 1, 0)
        for index, expert in enumerate(self.experts):
            rank, token = torch.where(expert_mask[index])
            current = expert(hidden_states[None, token].reshape(-1, width)) * weights[token, rank, None]
            final.index_add_(0, token, current.to(hidden_states.dtype))
        share = expert_mask.float().mean(dim=(1, 2))
        loss = self.num_experts * (share * probabilities.mean(0)).sum()
        return final.reshape(batch, length, width), loss.to(hidden_states.dtype)
