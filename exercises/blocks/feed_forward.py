"""The feed-forward network: what each token does by itself.

Attention carries information between tokens; it is linear in the values it carries. The
other half of a Transformer layer is a small network that is applied to each token's
vector separately, with the same weights at every position ("position-wise"). It widens
the vector to d_ff numbers, usually four times d_model, cuts the negative ones off
(ReLU), and narrows it again:

    hidden  = max(0, x w1 + b1)   [..., d_ff]      each number compared with 0 by itself
    result  = hidden w2 + b2      [..., d_model]

The ReLU is what makes the two matrices more than one: without it x w1 w2 is a single
linear map. It stands between them and nowhere else, so results may well be negative.

Example: two tokens, d_model = 2, d_ff = 3.

    x = [[2, 1],   w1 = [[1, 0, -1],   b1 = [0, -2, 0]   w2 = [[1, 0],   b2 = [0.5, -1]
         [1, 3]]         [0, 1,  2]]                           [2, 1],
                                                               [0, 1]]
    x w1 + b1  = [[2, -1, 0],
                  [1,  1, 5]]
    hidden     = [[2,  0, 0],      the -1 is cut off
                  [1,  1, 5]]
    result     = [[2.5, -1],
                  [3.5,  5]]

What goes wrong: the loss is no better than that of a linear model (no ReLU, or one that
comes before both products); no result is ever negative (a ReLU at the end); the code
works for [T, d_model] and fails with a batch in front, because it transposed where a
matrix product from the right was enough.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, a single vector, four axes, large numbers.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.3.
"""

import numpy as np


def feed_forward(
    x: np.ndarray,
    w1: np.ndarray,
    b1: np.ndarray,
    w2: np.ndarray,
    b2: np.ndarray,
) -> np.ndarray:
    """Apply the two-layer network max(0, x w1 + b1) w2 + b2 to every token.

    x:       [..., d_model], any leading axes or none.
    w1, b1:  [d_model, d_ff], [d_ff].
    w2, b2:  [d_ff, d_model], [d_model].
    returns: [..., d_model], in the dtype that all arguments have in common.

    No argument is changed.
    """
    raise NotImplementedError
