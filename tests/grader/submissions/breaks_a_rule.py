"""Calls the function that the kata asks to build."""

import numpy as np


def double(x):
    return np.multiply(x, 2)
