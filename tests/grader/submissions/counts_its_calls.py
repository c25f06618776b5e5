"""Is right for the first calls and wrong afterwards."""

import numpy as np

CALLS = []


def softmax(x, axis=-1):
    CALLS.append(1)
    if len(CALLS) > 5:
        return x
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)
