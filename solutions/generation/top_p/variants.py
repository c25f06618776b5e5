"""Right answers to top_p in other styles."""

import numpy as np
import torch


def shifted_removals(logits, p):
    """Removals by cumulative mass, shifted right by one to spare the crossing token, then scattered."""
    if not p > 0:
        raise ValueError("p must be positive")
    if p >= 1.0:
        return logits
    sorted_logits, indices = torch.sort(logits, descending=True)
    cumulative = torch.cumsum(torch.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative > p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = 0
    return logits.masked_fill(torch.zeros_like(remove).scatter(-1, indices, remove), -torch.inf)


def row_by_row(logits, p):
    """A Python loop over rows and tokens, adding up until p is reached."""
    assert p > 0, "p must be above 0"
    result = torch.full_like(logits, float("-inf"))
    for index in np.ndindex(*logits.shape[:-1]):
        probabilities = torch.exp(torch.log_softmax(logits[index], dim=0))
        mass = 0.0
        for token in torch.argsort(probabilities, descending=True).tolist():
            if mass >= p and p < 1:
                break
            result[(*index, token)] = logits[(*index, token)]
            mass += float(probabilities[token])
    return result


def threshold_on_probability(logits, p):
    """Another way: find the probability of the crossing token and keep all that reach it.

    The probability of the crossing token is a threshold; nothing is brought back.
    """
    if p <= 0:
        raise ValueError("p <= 0")
    if p >= 1:
        return logits.clone()
    probabilities = torch.nn.functional.softmax(logits, dim=-1)
    ordered = probabilities.sort(dim=-1, descending=True).values
    crossing = (ordered.cumsum(-1) < p).sum(-1, keepdim=True).clamp(max=logits.size(-1) - 1)
    nothing = torch.tensor(float("-inf"), device=logits.device)
    return torch.where(probabilities >= ordered.gather(-1, crossing), logits, nothing)


def threshold_by_bisection(logits, p):
    """No sort: the largest threshold whose tokens still hold p, found by halving an interval."""
    if p <= 0:
        raise ValueError("p must be greater than 0")
    powers = (logits.double() - logits.double().amax(dim=-1, keepdim=True)).exp()
    probabilities = powers / powers.sum(dim=-1, keepdim=True)
    low, high = torch.zeros_like(probabilities[..., :1]), probabilities.amax(dim=-1, keepdim=True)
    for _ in range(60):
        middle = (low + high) / 2
        mass = (probabilities * (probabilities >= middle)).sum(dim=-1, keepdim=True)
        low, high = torch.where(mass >= p, middle, low), torch.where(mass >= p, high, middle)
    keep = (probabilities >= low) | (p >= 1)
    return logits.where(keep, torch.full_like(logits, float("-inf")))


def least_likely_first(logits, p):
    """Sorted upwards: what adds up to 1 - p from the bottom goes; undone by a second argsort."""
    if p <= 0:
        raise ValueError("p must lie in (0, 1]")
    if p >= 1:
        return logits * 1
    order = logits.argsort(dim=-1)
    mass = logits.softmax(-1).gather(-1, order).cumsum(-1)
    removed = mass <= 1 - p
    removed[..., -1] = False
    removed = removed.gather(-1, order.argsort(dim=-1))
    result = logits.clone()
    result[removed] = float("-inf")
    return result


def flattened_in_float64(logits, p):
    """All rows flattened to two axes, computed in float64, the logits picked by count and scatter."""
    if p <= 0:
        raise ValueError(p)
    rows = logits.reshape(-1, logits.shape[-1])
    values, order = torch.topk(rows, rows.shape[1], dim=1)
    mass = torch.cumsum(torch.softmax(values.double(), dim=1), dim=1)
    count = (mass < p).sum(dim=1, keepdim=True) + 1
    keep = (torch.arange(rows.shape[1], device=rows.device) < count) | (p >= 1)
    kept = torch.where(keep, values, torch.full_like(values, -float("inf")))
    return torch.empty_like(rows).scatter_(1, order, kept).view(logits.shape)
