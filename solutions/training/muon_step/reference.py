"""Jordan et al. 2024."""

import numpy as np


def orthogonalize(matrix, steps=5):
    norm = np.sqrt((matrix**2).sum())  # one number
    x = matrix / np.where(norm == 0, 1, norm)  # [m, n], singular values of at most 1
    for _ in range(steps):
        gram = x @ x.T  # [m, m]
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x  # [m, n]
    return x


def muon_step(weight, gradient, momentum, lr=0.02, beta=0.95):
    momentum = beta * momentum + gradient  # [m, n]
    update = gradient + beta * momentum  # [m, n], Nesterov
    rows, columns = weight.shape
    length = max(1, rows / columns) ** 0.5  # a tall matrix moves further
    return weight - lr * length * orthogonalize(update), momentum
