"""Returns a view of a buffer, and overwrites the buffer at the next call."""

import numpy as np

BUFFER = np.zeros(10_000)


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    BUFFER[:] += 1
    return BUFFER[: x.size].reshape(x.shape)
