"""Switch Transformers' capacity, DeepSeek-V3's bias for picks."""

import math

import torch.nn.functional as F


def expert_capacity(num_tokens, num_experts, top_k, factor):
    """The places of an even load, times the factor."""
    return math.ceil(factor * num_tokens * top_k / num_experts)


def route_tokens(scores, bias, top_k, capacity):
    """Picks by sums, weights by scores, places by the order of tokens."""
    if not 1 <= top_k <= scores.shape[-1]:
        raise ValueError(f"top_k={top_k} is not between 1 and {scores.shape[-1]}")
    order = (scores + bias).sort(dim=-1, descending=True, stable=True).indices  # [N, E]
    experts = order[:, :top_k]  # [N, k]
    chosen = scores.gather(-1, experts)  # [N, k]
    weights = chosen / chosen.sum(dim=-1, keepdim=True)  # [N, k]
    picks = F.one_hot(experts, scores.shape[-1]).sum(dim=1)  # [N, E], 0 or 1
    earlier = picks.cumsum(dim=0) - picks  # [N, E]
    slots = earlier.gather(-1, experts)  # [N, k]
    dropped = slots >= capacity  # [N, k]
    return experts, slots.masked_fill(dropped, -1), weights.masked_fill(dropped, 0)


def update_bias(bias, experts, rate):
    """One step of the bias towards an even load."""
    loads = F.one_hot(experts.flatten(), len(bias)).sum(dim=0)  # [E]
    missing = experts.numel() - len(bias) * loads  # [E], E times the mean minus the load
    return bias + rate * missing.sign().to(bias.dtype)  # [E]
