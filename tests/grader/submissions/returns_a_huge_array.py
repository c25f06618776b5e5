"""Returns 2**40 elements, all of them one and the same."""

import numpy as np


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return np.broadcast_to(np.float64(0.5), (2**20, 2**20))
