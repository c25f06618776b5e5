"""Returns an array of 2^40 empty rows where it should raise ValueError."""

import numpy as np


def causal_mask(query_len, key_len=None):
    return np.zeros((2**40, 0))
