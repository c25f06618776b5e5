"""Returns the largest array that the codec allows from every call."""

import numpy as np


def softmax(x, axis=-1):
    return np.ones(2**20)
