"""Right answers to scaled_init in other styles."""

import torch
from torch import nn


def apply_then_names(model, num_layers, std=0.02):
    """Module.apply with torch.nn.init for all, then the residual projections once more by name."""

    def draw(module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=std)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=std)

    model.apply(draw)
    embedded = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    for name, parameter in model.named_parameters():
        if id(parameter) in embedded:
            continue
        if name.endswith((".out.weight", ".out_proj.weight", ".mlp.2.weight", ".ffn.2.weight")):
            nn.init.normal_(parameter, 0.0, std * (2 * num_layers) ** -0.5)
    return model


def each_parameter_once(model, num_layers, std=0.02):
    """One pass over the parameters by the kind of their owner; .data, copies of a scaled torch.randn."""
    owners = [(name, module) for name, module in model.named_modules()]
    embedded = [module.weight for _, module in owners if isinstance(module, nn.Embedding)]
    done = set()
    for name, module in owners:
        if not isinstance(module, nn.Linear | nn.Embedding):
            continue
        weight = module.weight
        if id(weight) not in done:
            done.add(id(weight))
            parts = f".{name}".split(".")
            residual = parts[-1] in ("out", "out_proj") or parts[-2:] in (["mlp", "2"], ["ffn", "2"])
            tied = any(weight is other for other in embedded)
            size = std / (2.0 * num_layers) ** 0.5 if residual and not tied else std
            weight.data.copy_(torch.randn(weight.shape, dtype=weight.dtype) * size)
        if getattr(module, "bias", None) is not None:
            module.bias.data.fill_(0)


def truncated_far_away(model, num_layers, std=0.02):
    """trunc_normal_ with its default bounds, which lie a hundred standard deviations away."""
    kinds = {id(m.weight): m for m in model.modules() if isinstance(m, nn.Linear)}
    kinds |= {id(m.weight): m for m in model.modules() if isinstance(m, nn.Embedding)}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        kind = kinds.get(id(parameter))
        if kind is None:
            continue
        endings = ("out.weight", "out_proj.weight", "mlp.2.weight", "ffn.2.weight")
        residual = isinstance(kind, nn.Linear) and any(name.endswith("." + ending) for ending in endings)
        scale = (2 * num_layers) ** 0.5 if residual else 1.0
        nn.init.trunc_normal_(parameter, std=std / scale, a=-100 * std, b=100 * std)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias *= 0
