"""The chain rule through Ba, Kiros and Hinton 2016, section 3."""

import numpy as np


def layer_norm_backward(dy, x, gamma, eps=1e-5):
    """dx loses its mean and its part along `normal`; dgamma and dbeta are sums over all rows."""
    centred = x - x.mean(axis=-1, keepdims=True)  # [..., d_model]
    rstd = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)  # [..., 1]
    normal = centred * rstd  # [..., d_model]
    rows = tuple(range(x.ndim - 1))  # all leading axes
    dnormal = dy * gamma  # [..., d_model]
    along = (dnormal * normal).mean(axis=-1, keepdims=True)  # [..., 1]
    dx = rstd * (dnormal - dnormal.mean(axis=-1, keepdims=True) - normal * along)  # [..., d_model]
    return dx, (dy * normal).sum(axis=rows), dy.sum(axis=rows)  # the latter two [d_model]
