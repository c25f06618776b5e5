"""The gradient of the cross-entropy with respect to the logits.

Every step of training begins here: the loss is one number, and the first thing to know
is how it changes with each logit. All other gradients of the model are computed from
this one. PyTorch computes it for you in `loss.backward()`; here you compute it.

The loss is that of `cross_entropy`. At a position with logits x and target t it is

    loss at a position  =  log(sum_j exp(x_j)) - x_t
    L                   =  the average of that over the n targets that count

A target counts if it differs from `ignore_index`. The gradient has one number for each
logit, dL/dx_j, and so the shape of the logits, [B, T, V]. Both terms of the loss have a
short derivative: that of log(sum_j exp(x_j)) by x_j is softmax(x)_j, and that of x_t by
x_j is 1 where j = t and 0 elsewhere. The average divides by n. The logits of positions
that are ignored do not change L, so their gradient is 0.

Example: one sequence of three positions, V = 3, ignore_index = -100, so n = 2.

    logits         = [[2, 0, 0],                  [0, 1, 0],              [5, 5, 9]]
    targets        = [0,                          2,                      -100]
    probabilities  = [[0.787, 0.107, 0.107],      [0.212, 0.576, 0.212],  (ignored)]
    gradient       = [[-0.107, 0.053, 0.053],     [0.106, 0.288, -0.394], [0, 0, 0]]

In each row the target alone is below zero, and the row sums to 0: a step against the
gradient raises the logit of the target and lowers the others.

Elsewhere: `cross_entropy` of PyTorch gives this gradient. The kernel of llm.c adds it
to what the gradient array holds already; here a new array is returned. Much code calls
the logits [N, V] and joins batch and tokens before; the numbers are the same.

What goes wrong: NaN where logits are large (exp overflows); gradients that shrink as
padding grows (divided by all positions); a gradient at ignored positions, or a target
of -100 that picks a token from the end; the derivative of the softmax applied to what
contains it already.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme logits, another ignore_index.

Not graded: digits below the rounding of the largest entry, such as those that p - 1
loses where p is nearly 1.

Source: Bridle 1990, "Probabilistic Interpretation of Feedforward Classification Network
Outputs"; Goodfellow, Bengio and Courville 2016, "Deep Learning", section 6.2.2.3.
"""

import numpy as np


def softmax_cross_entropy_backward(
    logits: np.ndarray,
    targets: np.ndarray,
    ignore_index: int = -100,
) -> np.ndarray:
    """Return the gradient of the mean cross-entropy with respect to the logits.

    logits:       [B, T, V], float32 or float64, finite, of any size.
    targets:      [B, T], of any integer dtype; each is a token in [0, V) or equals
                  `ignore_index`. At least one of them counts.
    ignore_index: any integer, a token's id too (then that token never counts).
    returns:      [B, T, V], in the dtype of `logits`.

    Neither array is changed.
    """
    raise NotImplementedError
