"""Holtzman et al. 2020, sections 3 and 4."""

import numpy as np


def _softmax(logits):
    exponentials = np.exp(logits)
    return exponentials / exponentials.sum()


def _ranked(logits):
    """The token ids, the likeliest first."""
    return np.argsort(-np.asarray(logits))


def _nucleus_size(logits, p):
    return (np.cumsum(np.sort(_softmax(logits))[::-1]) < p).sum() + 1


def GREEDY(logits, **_):
    return _ranked(logits)[0]


def PROBABILITY(logits, **_):
    return _softmax(logits).max()


def AT_TEMPERATURE(logits, temperature, **_):
    return _softmax(np.asarray(logits) / temperature).max()


def AFTER_TOP_K(logits, k, **_):
    probabilities = np.sort(_softmax(logits))[::-1]
    return probabilities[0] / probabilities[:k].sum()


def NUCLEUS(logits, p, **_):
    return sorted(_ranked(logits)[: _nucleus_size(logits, p)])


def AFTER_MIN_P(logits, min_p, **_):
    probabilities = _softmax(logits)
    return np.flatnonzero(probabilities >= min_p * probabilities.max())


def PENALISED(logits, seen, penalty, **_):
    return logits[seen] / penalty if logits[seen] > 0 else logits[seen] * penalty


def LIMIT(logits, **_):
    return 1 / len(logits)
