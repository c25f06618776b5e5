"""Returns every other element in reverse order, which is not contiguous."""

import numpy as np


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return np.repeat(x, 2, axis=-1)[..., ::-2] if x.ndim else x
