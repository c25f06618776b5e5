"""Rajbhandari et al. 2020, section 5: partitioned states and gradients."""

import numpy as np


def zero_step(
    parameter,
    gradient,
    m,
    v,
    step,
    rank,
    size,
    lr,
    betas,
    eps,
    weight_decay,
    reduce_scatter,
    all_gather,
):
    padding = (0, size * len(m) - len(parameter))
    mean = reduce_scatter(np.pad(gradient, padding)) / size  # [S]
    start = rank * len(m)
    part = np.pad(parameter, padding)[start : start + len(m)]  # [S]
    m = betas[0] * m + (1 - betas[0]) * mean  # [S]
    v = betas[1] * v + (1 - betas[1]) * mean**2  # [S]
    m_hat = m / (1 - betas[0] ** step)  # [S]
    v_hat = v / (1 - betas[1] ** step)  # [S]
    update = m_hat / (np.sqrt(v_hat) + eps) + weight_decay * part  # [S]
    parts = all_gather(part - lr * update)  # N of [S]
    return np.concatenate(parts)[: len(parameter)], m, v  # [P], [S], [S]
