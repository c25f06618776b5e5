"""Hu et al. 2021, section 4.1: h = W x + (alpha / r) B A x."""

import torch
from torch import nn


class LoRALinear(nn.Module):
    """A frozen linear layer and a trainable update of low rank."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError(f"rank={rank} is less than 1.")
        self.base = base.requires_grad_(False)
        weight = base.weight  # [d_out, d_in]
        self.lora_a = nn.Parameter(torch.randn_like(weight[:1].expand(rank, -1)) / rank)  # [rank, d_in]
        self.lora_b = nn.Parameter(weight.new_zeros(len(weight), rank))  # [d_out, rank]
        self.scale = alpha / rank
        self.is_merged = False

    def forward(self, x):
        result = self.base(x)  # [..., d_out]
        if self.is_merged:
            return result
        return result + (self.scale * (x @ self.lora_a.T)) @ self.lora_b.T  # [..., d_out]

    def merge(self):
        if not self.is_merged:
            self._add(self.scale)
        self.is_merged = True

    def unmerge(self):
        if self.is_merged:
            self._add(-self.scale)
        self.is_merged = False

    @torch.no_grad()
    def _add(self, scale):
        self.base.weight += scale * (self.lora_b @ self.lora_a)  # [d_out, d_in]
