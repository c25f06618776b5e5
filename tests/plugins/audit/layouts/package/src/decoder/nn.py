"""The parts of a feed-forward layer."""

from __future__ import annotations

import numpy as np

from . import ops
from .ops import sigmoid


class Linear:
    def __init__(self, d_in: int, d_out: int):
        self.weight = np.zeros((d_out, d_in))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x @ self.weight.T


def silu(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(x)


def swiglu(x: np.ndarray, w1: np.ndarray, w2: np.ndarray, w3: np.ndarray) -> np.ndarray:
    gate = x @ w1.T
    return (gate * ops.sigmoid(gate) * (x @ w3.T)) @ w2.T
