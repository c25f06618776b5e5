import numpy as np


def sigmoid(x: np.ndarray) -> np.ndarray:
    # stable on both sides of zero
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))
