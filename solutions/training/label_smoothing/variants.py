"""Right answers in other styles."""

import math

import numpy as np


def mixes_two_losses(logits, targets, smoothing=0.1, ignore_index=-100):
    """As in Transformers: log-probabilities of everything, the ignored ones filled with zeros, two sums."""
    if smoothing < 0 or smoothing > 1:
        raise ValueError("smoothing is a share")
    log_probs = logits - logits.max(axis=-1, keepdims=True)
    log_probs = log_probs - np.log(np.exp(log_probs).sum(axis=-1, keepdims=True))
    padding = targets == ignore_index
    labels = np.where(padding, 0, targets).astype(np.int64)
    nll = -np.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]
    smoothed = -log_probs.sum(axis=-1)
    nll[padding] = 0.0
    smoothed[padding] = 0.0
    active = padding.size - padding.sum()
    return (1 - smoothing) * nll.sum() / active + smoothing * smoothed.sum() / (active * logits.shape[-1])


def builds_the_smoothed_targets(logits, targets, smoothing=0.1, ignore_index=-100):
    """A distribution for each position, and its inner product with the log-probabilities."""
    assert 0.0 <= smoothing <= 1.0, smoothing
    vocab = logits.shape[-1]
    one_hot = (np.arange(vocab) == targets[..., None]).astype(logits.dtype)
    distribution = (1 - smoothing) * one_hot + smoothing / vocab
    distribution *= (targets != ignore_index)[..., None]
    top = np.amax(logits, axis=-1, keepdims=True)
    log_total = top + np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
    return np.einsum("btv,btv->", distribution, log_total - logits) / np.count_nonzero(
        targets != ignore_index
    )


def loops_over_positions(logits, targets, smoothing=0.1, ignore_index=-100):
    """Position by position, in Python's own floats; a Python float comes back."""
    if not (smoothing >= 0 and smoothing <= 1):
        raise ValueError(smoothing)
    total, count = 0.0, 0
    for row, target in zip(
        logits.reshape(-1, logits.shape[-1]).tolist(), targets.ravel().tolist(), strict=True
    ):
        if target == ignore_index:
            continue
        top = max(row)
        log_total = top + math.log(math.fsum(math.exp(value - top) for value in row))
        share = smoothing / len(row)
        for token, value in enumerate(row):
            total += (share + (1 - smoothing) * (token == target)) * (log_total - value)
        count += 1
    return total / count


def subtracts_a_smoothed_logit(logits, targets, smoothing=0.1, ignore_index=-100):
    """logaddexp along the vocabulary, less the logit that the smoothed target has on average."""
    if abs(smoothing - 0.5) > 0.5:
        raise ValueError("smoothing must be in [0, 1]")
    keep = np.nonzero(targets != ignore_index)
    rows, chosen = logits[keep], targets[keep].astype(np.intp)
    log_totals = np.logaddexp.reduce(rows, axis=1)
    expected = (1 - smoothing) * rows[np.arange(chosen.size), chosen] + smoothing * rows.mean(axis=1)
    return np.mean(log_totals - expected)


def splits_on_and_off(logits, targets, smoothing=0.1, ignore_index=-100):
    """Two weights, for the target and for each other token; float64 inside, a Python float comes back."""
    if smoothing > 1 or smoothing < 0:
        raise ValueError("not a share")
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    losses = np.log(np.exp(wide).sum(axis=-1))[..., None] - wide
    off = smoothing / wide.shape[-1]
    on = 1 - smoothing + off
    values = []
    for b, t in np.argwhere(targets != ignore_index):
        weights = np.full(wide.shape[-1], off)
        weights[targets[b, t]] = on
        values.append(weights @ losses[b, t])
    return float(np.mean(values))
