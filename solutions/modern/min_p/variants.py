"""Right answers to min_p in other styles."""

import math

import numpy as np
import torch


def compares_differences_of_logits(logits, p):
    """Another way: compare logits: a share of the best is a distance of log(p) below it.

    No softmax: a share is a distance of log(p) between logits.
    """
    assert 0 <= p <= 1, "p must be a share"
    distance = math.log(p) if p else -math.inf
    largest = torch.max(logits, dim=-1, keepdim=True).values
    return torch.where(logits - largest >= distance, logits, -torch.inf)


def shares_of_the_best(logits, p):
    """exp of the logits minus the largest is the share itself."""
    if p < 0 or p > 1:
        raise ValueError("0 <= p <= 1")
    shares = torch.exp(logits - logits.amax(-1, keepdim=True))
    result = logits.clone()
    result[shares < p] = float("-inf")
    return result


def sorts_first(logits, p):
    """Sorted downwards, the verdicts scattered back to their tokens."""
    if not (p >= 0 and p <= 1):
        raise ValueError(p)
    ordered, order = torch.sort(torch.softmax(logits, dim=-1), descending=True)
    drop = ordered < ordered[..., :1] * p
    return logits.masked_fill(torch.zeros_like(drop).scatter_(-1, order, drop), -math.inf)


def row_by_row(logits, p):
    """A loop over rows and tokens, with the library's own exp."""
    if p < 0:
        raise ValueError("p is negative")
    if p > 1:
        raise ValueError("p is above 1")
    result = torch.full_like(logits, -math.inf)
    for index in np.ndindex(*logits.shape[:-1]):
        values = logits[index].tolist()
        best = max(values)
        for token, value in enumerate(values):
            if math.exp(value - best) >= p:
                result[(*index, token)] = logits[(*index, token)]
    return result


def in_float64(logits, p):
    """Log-probabilities in float64, all rows flattened to two axes, the verdicts brought back."""
    if not 0.0 <= p <= 1.0:
        raise ValueError("p")
    rows = logits.reshape(-1, logits.shape[-1]).double().log_softmax(dim=1)
    best = rows.max(dim=1, keepdim=True).values
    keep = (rows - best).exp() >= p
    return torch.where(keep.view(logits.shape), logits, torch.full_like(logits, float("-inf")))
