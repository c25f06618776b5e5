"""Calls its parameters otherwise."""

import numpy as np


def softmax(scores, dim=-1):
    return np.exp(scores) / np.exp(scores).sum(axis=dim, keepdims=True)
