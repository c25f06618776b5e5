"""Radford et al. 2019, section 2.3: residual projections shrink with the depth."""

import math

import torch
from torch import nn

RESIDUAL = (".out.weight", ".out_proj.weight", ".mlp.2.weight", ".ffn.2.weight")


@torch.no_grad()
def scaled_init_(model, num_layers, std=0.02):
    """Linear layers first; embeddings last, so that a tied weight ends as an embedding's."""
    modules = list(model.named_modules())
    for name, module in modules:
        if isinstance(module, nn.Linear):
            residual = f"{name}.weight".endswith(RESIDUAL)
            module.weight.normal_(0.0, std / math.sqrt(2 * num_layers) if residual else std)
            if module.bias is not None:
                module.bias.zero_()
    for _, module in modules:
        if isinstance(module, nn.Embedding):
            module.weight.normal_(0.0, std)
