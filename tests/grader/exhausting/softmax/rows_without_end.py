"""Returns an array of 2^40 empty rows."""

import numpy as np


def softmax(x, axis=-1):
    return np.zeros((2**40, 0))
