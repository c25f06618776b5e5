"""Right answers to top_k in other styles."""

import numpy as np
import torch


def scattered_back(logits, k):
    """A tensor of -inf, into which the values of topk are scattered."""
    if k < 1:
        raise ValueError("k must be positive")
    values, tokens = torch.topk(logits, min(k, logits.size(-1)), dim=-1)
    return torch.full_like(logits, float("-inf")).scatter(-1, tokens, values)


def threshold_from_the_sorted_row(logits, k):
    """The k-th logit of the sorted row as a threshold, chosen by torch.where."""
    assert k >= 1, f"k={k} must be at least 1"
    if k >= logits.shape[-1]:
        return logits
    threshold = torch.sort(logits, dim=-1).values[..., -k].unsqueeze(-1)
    return torch.where(logits >= threshold, logits, torch.full_like(logits, -torch.inf))


def ranks_of_the_tokens(logits, k):
    """Each token's rank by a double argsort, and a copy that is filled in place."""
    if not k > 0:
        raise ValueError(k)
    rank = logits.argsort(dim=-1, descending=True).argsort(dim=-1)
    result = logits.clone()
    result[rank >= k] = -torch.inf
    return result


def counts_the_larger_ones(logits, k):
    """Another way: keep a token if fewer than k logits are larger than its own.

    A token stays if fewer than k are larger, which a binary search in the sorted row tells.
    """
    if k < 1:
        raise ValueError("nothing would be left")
    ordered = logits.sort(dim=-1).values
    larger = logits.shape[-1] - torch.searchsorted(ordered, logits.contiguous(), right=True)
    return logits.masked_fill(~(larger < k), -torch.inf)


def row_by_row(logits, k):
    """A Python loop over rows and their tokens, on NumPy's side."""
    if int(k) <= 0:
        raise ValueError("k <= 0")
    rows = logits.detach().cpu().numpy()
    result = np.full_like(rows, -np.inf)
    for index in np.ndindex(rows.shape[:-1]):
        for token in np.argsort(-rows[index])[:k]:
            result[(*index, token)] = rows[(*index, token)]
    return torch.from_numpy(result).to(logits.device)


def takes_the_largest_k_times(logits, k):
    """argmax k times; what was taken is hidden, and the rest is dropped at the end."""
    if k < 1:
        raise ValueError("k must be >= 1")
    if k >= logits.shape[-1]:
        return logits.clone()
    left, kept = logits.double(), torch.zeros_like(logits, dtype=torch.bool)
    for _ in range(k):
        token = left.masked_fill(kept, -torch.inf).argmax(dim=-1, keepdim=True)
        kept = kept.scatter(-1, token, True)
    return logits.masked_fill(kept.logical_not(), -torch.inf)


def additive_mask_on_flat_rows(logits, k):
    """Rows flattened to two axes; a mask of 0 and -inf is added, from kthvalue."""
    if k <= 0:
        raise ValueError("k has to be a positive integer")
    rows = logits.reshape(-1, logits.shape[-1])
    smallest_kept = max(1, rows.shape[1] - k + 1)
    threshold, _ = rows.kthvalue(smallest_kept, dim=1, keepdim=True)
    mask = torch.zeros_like(rows)
    mask[rows < threshold] = -torch.inf
    return (rows + mask).reshape(logits.shape)
