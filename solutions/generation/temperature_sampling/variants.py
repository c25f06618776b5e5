"""Right answers to temperature_sampling in other styles."""

import torch


def _require(temperature):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")


def gumbel_max(logits, temperature, generator=None):
    """Another way: add Gumbel noise to the divided logits and take the largest.

    Gumbel noise is added to the divided logits, and the largest taken.
    """
    _require(temperature)
    if temperature == 0:
        return torch.argmax(logits, dim=1)
    uniform = torch.rand(logits.shape, generator=generator, device=logits.device, dtype=torch.float64)
    noise = -torch.log(-torch.log(uniform.clamp(min=1e-300)))
    return torch.argmax(logits.double() / temperature + noise, dim=1)


def race_of_exponentials(logits, temperature, generator=None):
    """Each token waits a time with its probability as rate; the first one wins."""
    _require(temperature)
    if temperature == 0.0:
        return logits.max(dim=-1).indices
    scaled = logits / temperature
    powers = torch.exp(scaled - scaled.max(dim=-1, keepdim=True).values)
    waits = torch.empty_like(powers).exponential_(1.0, generator=generator)
    return (powers / waits).argmax(dim=-1)


def inverse_of_the_cumulative_sum(logits, temperature, generator=None):
    """A uniform number a row, and how many cumulative sums lie below it."""
    assert temperature >= 0, temperature
    if not temperature:
        return logits.argmax(-1)
    mass = torch.softmax(logits.to(torch.float64) / temperature, -1).cumsum(-1)
    drawn = torch.rand(len(logits), 1, generator=generator, device=logits.device, dtype=torch.float64)
    return (mass <= drawn * mass[:, -1:]).sum(dim=-1)


def searches_in_the_sums(logits, temperature, generator=None):
    """As before, by searchsorted, scaled so that the largest logit is 0."""
    if temperature < 0:
        raise ValueError(temperature)
    if temperature == 0:
        return logits.sort(dim=-1, descending=True).indices[:, 0]
    weights = ((logits - logits.amax(dim=-1, keepdim=True)) / temperature).exp()
    sums = weights.cumsum(dim=-1).contiguous()
    drawn = torch.rand(sums[:, -1:].shape, generator=generator, device=logits.device).to(sums.dtype)
    return torch.searchsorted(sums, drawn * sums[:, -1:], right=True).clamp(max=sums.shape[-1] - 1)[:, 0]


def row_by_row(logits, temperature, generator=None):
    """A draw for each row in a Python loop."""
    _require(temperature)
    ids = []
    for row in logits:
        if temperature == 0:
            ids.append(int(row.argmax()))
        else:
            ids.append(torch.multinomial(torch.softmax(row / temperature, 0), 1, generator=generator).item())
    return torch.tensor(ids, dtype=torch.long, device=logits.device)
