"""Returns empty arrays."""

import numpy as np


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return np.zeros((0, *x.shape), dtype=x.dtype)
