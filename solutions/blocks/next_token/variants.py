"""Right answers in other styles."""

import math

import numpy as np


def scores_every_position(hidden, output_weight):
    """Logits and softmax of all positions, the last row of each taken at the end; a NumPy int."""
    logits = np.matmul(hidden, output_weight)
    exps = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exps / exps.sum(axis=-1, keepdims=True)
    return logits[-1], probabilities[-1], np.argmax(probabilities, axis=-1)[-1]


def loops_over_the_vocabulary(hidden, output_weight):
    """Token by token in Python's own floats; the id by max with a key."""
    last = hidden[len(hidden) - 1].tolist()
    logits = [
        math.fsum(a * b for a, b in zip(last, column, strict=True)) for column in output_weight.T.tolist()
    ]
    exps = [math.exp(logit - max(logits)) for logit in logits]
    probabilities = [value / math.fsum(exps) for value in exps]
    token_id = max(range(len(logits)), key=logits.__getitem__)
    return np.array(logits, dtype=hidden.dtype), np.array(probabilities, dtype=hidden.dtype), token_id


def goes_through_log_softmax(hidden, output_weight):
    """Another way: compute log-probabilities first and take exp of them at the end.

    exp of the log-softmax by logaddexp; the id is the last of an argsort; a list comes back.
    """
    logits = np.einsum("d,dv->v", hidden[-1, :], output_weight)
    probabilities = np.exp(logits - np.logaddexp.reduce(logits))
    return [logits, probabilities / probabilities.sum(), np.argsort(logits)[-1]]


def keeps_the_axis_of_positions(hidden, output_weight):
    """A slice of one position, so everything stays two-dimensional until it is raveled; float64 inside."""
    logits = hidden[-1:].astype(np.float64) @ output_weight.astype(np.float64)
    logits = logits - logits.max(axis=1, keepdims=True) + logits.max(axis=1, keepdims=True)
    exps = np.exp(logits - np.amax(logits))
    probabilities = exps / np.sum(exps)
    [(_, token_id)] = np.argwhere(probabilities == probabilities.max())[:1]
    return logits.astype(hidden.dtype).ravel(), probabilities[0].astype(hidden.dtype), token_id
