"""Uses other parameter names than the statement."""

import numpy as np


def softmax(scores, dim=-1):
    return np.exp(scores) / np.exp(scores).sum(axis=dim, keepdims=True)
