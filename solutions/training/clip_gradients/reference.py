"""Pascanu, Mikolov and Bengio 2013, algorithm 1, over all arrays together."""

import math

import numpy as np


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError(f"max_norm must be above 0, not {max_norm}")
    squares = [np.sum(g**2) for g in gradients if g is not None]  # one number an array
    norm = math.sqrt(sum(squares))  # of all entries as one vector
    if not math.isfinite(norm):
        raise ValueError(f"the norm of the gradients is {norm}")
    if norm <= max_norm:
        return list(gradients), norm
    return [None if g is None else g * (max_norm / norm) for g in gradients], norm  # shapes as they came
