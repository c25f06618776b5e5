"""One step of Muon, an optimiser for the matrices of a model.

The gradient of a weight matrix often has a few large singular values and many small
ones, so a step with it moves the weight in a few directions alone. Muon makes all
directions count alike: it keeps the singular vectors of the update and brings its
singular values near 1. A singular value decomposition would be slow; a few products of
matrices do it, by a polynomial that acts on every singular value (Newton-Schulz):

    x  =  matrix / (root of the sum of the squares of all its entries)           [m, n]
    `steps` times:
        gram  =  x @ x.T                                                         [m, m]
        x     =  3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x        [m, n]
    orthogonalize  =  x

The five steps bring singular values to 0.68 ... 1.14, not to 1 exactly, if they were at
least a hundredth of that root. A matrix of zeros has no direction and stays as it is.
Nothing is added to the root, so the scale of the matrix changes nothing. Then the step:

    momentum  =  beta * momentum + gradient                                      [m, n]
    update    =  gradient + beta * momentum         with the new momentum (Nesterov)
    weight    =  weight - lr * sqrt(max(1, m / n)) * orthogonalize(update)

Example: orthogonalize([[3, 0], [0, 4]]) is [[0.723, 0], [0, 1.119]]; after one step in
place of five it is [[1.193, 0], [0, 0.976]].

Example: weight [[1, 0], [0, 1]], momentum zeros, lr = 0.1, beta = 0.5.

    gradient [[3, 0], [0, 4]]   weight [[0.928, 0], [0, 0.888]]
                                momentum [[3, 0], [0, 4]]
    gradient [[0, 4], [3, 0]]   weight [[0.915, -0.101], [-0.075, 0.871]]
                                momentum [[1.5, 4], [3, 2]]

Where public code differs: it runs the products in bfloat16 and adds 1e-7 to the root.
It transposes a matrix with more rows than columns, and the result again, which gives
the same numbers with smaller products. Some of it keeps an average as the momentum (the
gradient times 1 - beta is added): the weights are the same, the momentum is not. Some
scales by 0.2 * sqrt(max(m, n)) in place of sqrt(max(1, m / n)).

What goes wrong: the textbook's coefficients stand in the place of these; gram is
squared entry by entry; the momentum is used without the gradient (no Nesterov).

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, a matrix of zeros, arguments left out.

Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks".
"""

import numpy as np


def orthogonalize(matrix: np.ndarray, steps: int = 5) -> np.ndarray:
    """Bring the singular values of a matrix near 1 by Newton-Schulz steps.

    matrix:  [m, n], float32 or float64; more rows than columns, fewer, or as many. The
             root of the sum of its squares is 0 or lies between 1e-8 and 1e8.
    steps:   how many steps, at least 1.
    returns: [m, n], in the dtype of matrix.

    The array is not changed.
    """
    raise NotImplementedError


def muon_step(
    weight: np.ndarray,
    gradient: np.ndarray,
    momentum: np.ndarray,
    lr: float = 0.02,
    beta: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Update a weight matrix and its momentum, with five Newton-Schulz steps.

    weight, gradient, momentum: [m, n], all float32 or all float64.
    lr:      the learning rate.
    beta:    how much of the momentum is kept; at least 0 and below 1.
    returns: the new (weight, momentum), in the dtype of the arguments.

    No argument is changed.
    """
    raise NotImplementedError
