"""Right answers in other styles."""

import math

import numpy as np


def masks_with_a_large_negative_number(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """-1e9 for hidden scores, and what is hidden set to 0 once more afterwards."""
    scores = np.matmul(q, np.moveaxis(k, -1, -2)) * float(q.shape[-1]) ** -0.5
    if mask is not None:
        scores = np.where(mask, scores, np.array(-1e9, dtype=scores.dtype))
    weights = np.exp(scores - np.amax(scores, axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


def adds_the_lowest_float(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Another way: add a very low number to hidden scores instead of replacing them.

    finfo.min added where the mask is False; queries are scaled before the product.
    """
    scores = (q / math.sqrt(q.shape[-1])) @ k.swapaxes(-2, -1)
    seen = np.ones(scores.shape, dtype=bool) if mask is None else np.broadcast_to(mask, scores.shape)
    scores = scores + (~seen).astype(q.dtype) * np.finfo(q.dtype).min
    powers = np.exp(scores - scores.max(axis=-1)[..., None])
    weights = powers / powers.sum(axis=-1)[..., None]
    weights[~seen.any(axis=-1)] = 0
    return weights @ v, weights


def names_the_axes(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """np.einsum for both products; exp only where the mask is True; each side takes half of the scale."""
    half = q.dtype.type(q.shape[-1] ** -0.25)
    scores = np.einsum("...id,...jd->...ij", q * half, k * half)
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    largest = np.max(scores, axis=-1, keepdims=True, where=seen, initial=-np.inf)
    powers = np.exp(scores - largest, where=seen, out=np.zeros_like(scores))
    total = powers.sum(axis=-1, keepdims=True)
    weights = np.divide(powers, total, where=total > 0, out=np.zeros_like(powers))
    return np.einsum("...ij,...jd->...id", weights, v), weights


def loops_over_queries(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Query by query over the keys that it sees, in arrays of the same dtype."""
    lead, (queries, keys) = q.shape[:-2], (q.shape[-2], k.shape[-2])
    seen = np.broadcast_to(np.True_ if mask is None else mask, (*lead, queries, keys))
    output = np.zeros((*lead, queries, v.shape[-1]), dtype=q.dtype)
    weights = np.zeros((*lead, queries, keys), dtype=q.dtype)
    for at in np.ndindex(*lead, queries):
        visible = np.flatnonzero(seen[at])
        if not visible.size:
            continue
        scores = k[at[:-1]][visible] @ q[at] / math.sqrt(q.shape[-1])
        powers = np.exp(scores - scores.max())
        weights[at][visible] = powers / powers.sum()
        output[at] = weights[at] @ v[at[:-1]]
    return output, weights


def computes_in_float64(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """float64 inside, NaN of empty rows replaced afterwards, cast back at the end."""
    wide = [x.astype(np.float64) for x in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    scores -= np.nan_to_num(scores.max(axis=-1, keepdims=True), neginf=0.0)
    with np.errstate(invalid="ignore"):
        weights = np.nan_to_num(np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True))
    return (weights @ wide[2]).astype(q.dtype), weights.astype(q.dtype)


def subtracts_the_log_of_the_sum(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """exp(scores - logsumexp(scores)), which loses digits of large scores, and no more."""
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    scores = np.where(seen, scores, np.finfo(q.dtype).min)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - (largest + np.log(np.exp(scores - largest).sum(axis=-1, keepdims=True))))
    weights = np.where(seen, weights, 0).astype(q.dtype)
    return weights @ v, weights
