"""The gradients of layer norm, for its input and for its two parameters.

Every block of a Transformer has two layer norms, and every gradient on its way down
passes through them. A layer norm is the first step at which the chain rule is more than
one product: each number of a row changes the mean and the variance of the row, and so
all other numbers of the result.

The forward pass is that of `layer_norm`, for each row of d_model numbers:

    mean      = average of the d_model numbers of the row                     [..., 1]
    variance  = average of (x - mean)^2, divided by d_model                   [..., 1]
    normal    = (x - mean) / sqrt(variance + eps)                       [..., d_model]
    y         = gamma * normal + beta                                   [..., d_model]

The layers above give dy = dL/dy, the change of the loss L with each number of y. Return
dx = dL/dx, dgamma = dL/dgamma and dbeta = dL/dbeta, each in the shape of its argument:

    dx        [..., d_model]    a number of x acts in three ways: by itself, through
                                the mean, and through the variance of its row
    dgamma    [d_model]         all rows share gamma, so their contributions add up,
                                over all leading axes
    dbeta     [d_model]         the same for beta

In other words: dx, dgamma and dbeta are the gradients of the number sum(dy * y) by x,
gamma and beta, where dy is constant. beta itself is not needed.

Example: two rows of d_model = 4, eps = 1e-5.

    x         = [[1, 2, 0, 1], [3, 1, 1, 3]]       gamma = [1, 1, 1, 2]
    dy        = [[0, 1, 0, 0], [0, 0, 0, 1]]
    normal    = [[0, 1.414, -1.414, 0], [1, -1, -1, 1]]
    dx        = [[-0.354, 0.354, 0.354, -0.354], [-1, 0, 0, 1]]
    dgamma    = [0, 1.414, 0, 1]
    dbeta     = [0, 1, 0, 1]

dx has two properties that you can check. Adding one number to a row does not change y,
so each row of dx sums to 0. Scaling what is left of a row after its mean changes y only
through eps, so with a tiny eps each row of dx is orthogonal to its row of normal.

Elsewhere: kernels keep mean and 1 / sqrt(variance + eps) of the forward pass and take
them as arguments; here they are computed again from x. llm.c adds to gradients that are
there already; here new arrays are returned. PyTorch's kernel for the CPU multiplies x
itself and takes the mean out afterwards, so its float32 has too few digits for rows far
from zero.

What goes wrong: rows of dx that do not sum to 0 (the way through the mean is missing);
rows that are not orthogonal to normal (the way through the variance is missing); gamma
that is left out, or that multiplies dx at the end; dgamma with x instead of normal;
sums over one leading axis where there are two.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, rows far from zero, eps where it shows, a single row without leading axes.

Not graded: rows whose spread is lost in the rounding of their mean.

Source: Ba, Kiros and Hinton 2016, "Layer Normalization", section 3, for the forward
pass; the backward pass is the chain rule.
"""

import numpy as np


def layer_norm_backward(
    dy: np.ndarray,
    x: np.ndarray,
    gamma: np.ndarray,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients (dx, dgamma, dbeta) of layer norm over the last axis.

    dy:      [..., d_model], the gradient of the loss with respect to the result y; any
             leading axes or none.
    x:       [..., d_model], the input of the forward pass. Rows may stand as far as 1e4
             from zero with a spread of 1, in float32 too.
    gamma:   [d_model].
    eps:     the number added to the variance, under the root.
    returns: dx [..., d_model], dgamma [d_model] and dbeta [d_model], in the dtype of
             the arrays, which is the same for all three.

    No argument is changed.
    """
    raise NotImplementedError
