"""One step of AdamW, the optimiser of nearly every large model.

Plain gradient descent moves every weight by lr times its gradient. Adam keeps two
running means for each weight, of its gradient and of its gradient's square, and divides
the one by the root of the other, so a weight moves by about lr whether its gradients
are large or small. AdamW also shrinks every weight a little at each step (weight
decay), apart from the gradient, so that decay is not divided by the root as well.

    m = beta1 * m + (1 - beta1) * gradient        running mean of the gradient
    v = beta2 * v + (1 - beta2) * gradient^2      running mean of its square
    m_hat = m / (1 - beta1^step)                  m and v begin as zeros, so the first
    v_hat = v / (1 - beta2^step)                  means are too small; this mends it
    parameter = parameter - lr * (m_hat / (sqrt(v_hat) + eps)
                                  + weight_decay * parameter)

All arrays have one shape, and every entry is updated by itself. On the right of the
last line stands the parameter as it came in. What comes back as m and v is not
corrected: the next step needs them as they are.

Example: lr = 0.1, the others as their defaults; one weight of 1, with m = v = 0.

    step 1, gradient  0.5   parameter 0.899   m 0.05  v 0.00025  1 - 0.1 * (1 + 0.01)
    step 2, gradient -0.25  parameter 0.8715  m 0.02  v 0.00031225

Where public code differs: the paper multiplies the decay by a schedule and not by lr;
PyTorch's AdamW and this kata multiply it by lr. The old AdamW of Transformers adds eps
to the root before it corrects the means, and takes the decay from the weights that have
moved already.

What goes wrong: decay enters the gradient and is divided by the root (Adam with L2);
the corrected means come back; eps stands under the root; the first steps are far too
long or too short (no correction).

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, defaults, tiny gradients.

Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization",
algorithm 2; Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization",
algorithm 1.
"""

import numpy as np


def adamw_step(
    parameter: np.ndarray,
    gradient: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    step: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Update a parameter and its two running means.

    parameter, gradient, m, v: arrays of one shape, any number of axes from 1; v has no
                               negative entry.
    step:         the number of this update, from 1.
    lr:           the learning rate.
    betas:        (beta1, beta2), how much of m and of v is kept; each at least 0 and
                  below 1.
    eps:          above 0, added to the root.
    weight_decay: 0 or more.
    returns:      the new (parameter, m, v), in the shape and the dtype of the
                  arguments.

    No argument is changed.
    """
    raise NotImplementedError
