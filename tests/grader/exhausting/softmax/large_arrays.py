"""The largest array that may travel, every time."""

import numpy as np


def softmax(x, axis=-1):
    return np.ones(2**20)
