"""Returns the right result after a sleep that is within the limits of a call."""

import time

import numpy as np


def softmax(x, axis=-1):
    time.sleep(40)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
