"""Loshchilov and Hutter 2019, algorithm 2."""

import numpy as np


def adamw_step(parameter, gradient, m, v, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    beta1, beta2 = betas
    m = beta1 * m + (1 - beta1) * gradient  # [...]
    v = beta2 * v + (1 - beta2) * gradient**2  # [...]
    m_hat = m / (1 - beta1**step)  # [...], no longer drawn towards the zeros it began with
    v_hat = v / (1 - beta2**step)  # [...]
    update = m_hat / (np.sqrt(v_hat) + eps) + weight_decay * parameter  # [...]
    return parameter - lr * update, m, v
