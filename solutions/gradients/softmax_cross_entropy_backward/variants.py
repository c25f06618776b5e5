"""Right answers in other styles."""

import math

import numpy as np


def subtracts_one_in_the_rows_that_count(logits, targets, ignore_index=-100):
    """Another way: compute the rows that count alone, and write them into zeros.

    The rows that count, one subtracted by index.
    """
    counted = targets != ignore_index
    rows = logits[counted]
    rows = np.exp(rows - rows.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    rows[np.arange(len(rows)), targets[counted]] -= 1
    gradient = np.zeros_like(logits)
    gradient[counted] = rows / len(rows)
    return gradient


def loops_over_positions(logits, targets, ignore_index=-100):
    """Position by position and logit by logit, in Python's own floats."""
    gradient = np.zeros(logits.shape, logits.dtype)
    n = int((targets != ignore_index).sum())
    for b, t in np.ndindex(targets.shape):
        if targets[b, t] == ignore_index:
            continue
        row = logits[b, t].tolist()
        powers = [math.exp(x - max(row)) for x in row]
        for j, power in enumerate(powers):
            gradient[b, t, j] = (power / sum(powers) - (j == targets[b, t])) / n
    return gradient


def by_the_jacobian_of_the_softmax(logits, targets, ignore_index=-100):
    """The chain rule with whole matrices, in float64: through log-softmax, J = identity - p."""
    wide = logits.astype(np.float64)
    shifted = wide - wide.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    vocab = logits.shape[-1]
    upstream = np.zeros_like(wide)  # of the log-probabilities
    counted = targets != ignore_index
    np.put_along_axis(upstream, np.where(counted, targets, 0).astype(int)[..., None], -1.0, axis=-1)
    upstream *= counted[..., None] / counted.sum()
    jacobian = np.eye(vocab) - np.exp(log_p)[..., None, :]
    return np.einsum("btk,btkj->btj", upstream, jacobian).astype(logits.dtype)


def flat_with_weights(logits, targets, ignore_index=-100):
    """Joined to [N, V]; a weight for each position; the identity's rows are the one-hot vectors."""
    flat, ids = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).astype(np.int64)
    weights = (ids != ignore_index).astype(logits.dtype)
    weights /= weights.sum()
    p = np.exp(flat - np.logaddexp.reduce(flat, axis=-1)[:, None])
    one_hot = np.eye(flat.shape[-1], dtype=flat.dtype)[np.where(weights > 0, ids, 0)]
    return (weights[:, None] * (p - one_hot)).reshape(logits.shape)


def takes_away_the_sum_of_the_others(logits, targets, ignore_index=-100):
    """p as 1 over the sum of differences; the target's entry is minus the sum of the others' entries."""
    p = 1 / np.exp(np.minimum(logits[..., None, :] - logits[..., :, None], 80)).sum(-1)
    one_hot = np.arange(p.shape[-1]) == targets[:, :, None]
    others = np.where(one_hot, 0, p)
    gradient = np.where(one_hot, -others.sum(axis=-1, keepdims=True), others)
    gradient[targets == ignore_index] = 0
    return gradient / len(targets[targets != ignore_index])
