"""As in course notes: the maximum is taken away in place, from a copy."""

import numpy as np


def softmax(x, axis=-1):
    scores = np.array(x, dtype=x.dtype if x.dtype.kind == "f" else np.float64)
    scores -= scores.max(axis=axis, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=axis, keepdims=True)
    return scores
