"""As loralib has it: the product of the factors in forward unless merged, `data` changed in place."""

import math

from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank is at least 1")
        self.base = base
        self.lora_a = nn.Parameter(base.weight.new_zeros((rank, base.in_features)))
        self.lora_b = nn.Parameter(base.weight.new_zeros((base.out_features, rank)))
        self.scaling = alpha / rank
        for parameter in self.base.parameters():
            parameter.requires_grad = False
        self.merged = False
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))

    def merge(self):
        if not self.merged:
            self.base.weight.data += (self.lora_b @ self.lora_a) * self.scaling
            self.merged = True

    def unmerge(self):
        if self.merged:
            self.base.weight.data -= (self.lora_b @ self.lora_a) * self.scaling
            self.merged = False

    def forward(self, x):
        result = self.base(x)
        if not self.merged:
            result = result + (x @ self.lora_a.transpose(0, 1) @ self.lora_b.transpose(0, 1)) * self.scaling
        return result
