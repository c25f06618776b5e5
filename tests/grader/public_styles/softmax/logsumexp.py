"""As older versions of scipy have it: exp(x - logsumexp(x))."""

import numpy as np


def logsumexp(a, axis):
    a_max = np.amax(a, axis=axis, keepdims=True)
    return np.log(np.sum(np.exp(a - a_max), axis=axis, keepdims=True)) + a_max


def softmax(x, axis=-1):
    x = np.asarray(x)
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    return np.exp(x - logsumexp(x, axis))
