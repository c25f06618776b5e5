"""Returns an array whose strides point outside of its memory."""

import numpy as np


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return np.lib.stride_tricks.as_strided(x, shape=(2**30, 2), strides=(2**40, 8))
