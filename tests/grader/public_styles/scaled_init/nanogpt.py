"""As in nanoGPT: `apply` with a function of modules, then residual projections by their names. Fails:
tied_weights."""

import math

import torch
from torch import nn


def scaled_init_(model, num_layers, std=0.02):
    def _init_weights(module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=std)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=std)

    model.apply(_init_weights)
    for name, parameter in model.named_parameters():
        if name.endswith((".out.weight", ".out_proj.weight", ".mlp.2.weight", ".ffn.2.weight")):
            torch.nn.init.normal_(parameter, mean=0.0, std=std / math.sqrt(2 * num_layers))
