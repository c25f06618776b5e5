"""Returns 64 MiB from every call."""

import numpy as np


def softmax(x, axis=-1):
    return np.ones(2**23)
