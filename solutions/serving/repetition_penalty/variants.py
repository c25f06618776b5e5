"""Right answers to repetition_penalty in other styles."""

import math

import torch
import torch.nn.functional as F


def gathers_and_scatters(logits, ids, penalty):
    """As Hugging Face writes it: gather the logits of the ids, change them, scatter them back."""
    if not penalty > 0:
        raise ValueError("penalty must be positive")
    score = torch.gather(logits, 1, ids)
    score = torch.where(score < 0, score * penalty, score / penalty)
    return logits.scatter(1, ids, score)


def counts_in_bins(logits, ids, penalty):
    """As vLLM writes it: counts of tokens, a mask, a factor of 1 where nothing is seen, in place on a
    copy."""
    if penalty <= 0:
        raise ValueError("penalty must be positive")
    rows, vocab = logits.shape
    counts = torch.zeros((rows, vocab + 1), dtype=torch.long, device=ids.device)
    counts.scatter_add_(1, ids, torch.ones_like(ids))
    mask = counts[:, :vocab] > 0
    factors = torch.full((rows, 1), penalty, dtype=logits.dtype, device=logits.device).repeat(1, vocab)
    factors = torch.where(mask, factors, 1.0)
    result = logits.clone()
    result *= torch.where(result > 0, 1.0 / factors, factors)
    return result


def token_by_token(logits, ids, penalty):
    """Sets and Python's own floats."""
    assert penalty > 0, "no such penalty"
    result = logits.clone()
    for row, tokens in enumerate(ids.tolist()):
        for token in set(tokens):
            value = float(logits[row, token])
            result[row, token] = value / penalty if value > 0 else value * penalty
    return result


def compares_with_the_vocabulary(logits, ids, penalty):
    """ids against all tokens; magnitudes and signs apart; masked_fill in place of where."""
    if penalty <= 0:
        raise ValueError(penalty)
    seen = (ids[:, :, None] == torch.arange(logits.size(1), device=ids.device)).any(dim=1)
    power = torch.zeros_like(logits).masked_fill(seen & (logits > 0), -1.0)
    power = power.masked_fill(seen & (logits < 0), 1.0)
    return torch.where(power == 0, logits, logits * penalty**power)


def writes_by_index(logits, ids, penalty):
    """Rows one by one, unique tokens, advanced indexing; float64 inside."""
    if penalty <= 0.0:
        raise ValueError("penalty <= 0")
    rows = []
    for row, text in zip(logits.unbind(0), ids.unbind(0), strict=True):
        tokens = torch.unique(text)
        values = row[tokens].double()
        changed = torch.where(values > 0, values / penalty, values * penalty)
        rows.append(row.index_put((tokens,), changed.to(row.dtype)))
    return torch.stack(rows)


def splits_into_halves(logits, ids, penalty):
    """The positive part divided, the negative part multiplied, one_hot for what is seen."""
    if penalty <= 0:
        raise ValueError("penalty")
    seen = F.one_hot(ids, logits.shape[-1]).sum(dim=1).bool()
    changed = logits.clamp(min=0) / penalty + logits.clamp(max=0) * penalty
    return changed.where(seen, logits)


def in_logarithms(logits, ids, penalty):
    """A factor e to the plus or minus logarithm of the penalty, in the dtype of the logits."""
    if penalty <= 0:
        raise ValueError("penalty")
    seen = torch.zeros(logits.shape, dtype=torch.bool, device=logits.device)
    seen[torch.arange(len(ids), device=ids.device)[:, None], ids] = True
    factor = torch.exp(-logits.sign() * math.log(penalty))
    return torch.where(seen & (logits != 0), logits * factor, logits)
