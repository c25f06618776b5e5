"""RMSNorm: every token's vector brought to one length.

Layer norm does two things to a token's vector: it moves the mean of its d_model numbers
to 0, and it brings their spread to 1. RMSNorm keeps the second and drops the first. It
divides the vector by the root of the mean of its squares (root mean square, RMS), so
its length becomes about sqrt(d_model) while its direction stays; a learnt vector gamma
then gives each feature its scale. It is cheaper, and models train as well with it;
LLaMA and most decoders after it have no other norm.

    mean_square = average of x_j^2 over the d_model numbers of a token    [..., 1]
    result      = gamma * x / sqrt(mean_square + eps)                     [..., d_model]

Nothing is subtracted and nothing is added at the end: there is no mean and no beta.
Nothing is shared between tokens. The small `eps` under the root keeps a row of very
small numbers from being divided by nearly zero; a row of zeros stays a row of zeros.

Example: d_model = 4, gamma = [1.0, 1.0, 0.5, 2.0], eps = 1e-6.

    x       = [[1.0,    2.0,    2.0,   4.0],         mean square 6.25, its root 2.5
               [0.001, -0.001, -0.001, 0.001]]       mean square 1e-6, as small as eps
    result  = [[0.4,    0.8,    0.4,   3.2],
               [0.7071, -0.7071, -0.3536, 1.4142]]

What goes wrong: a row of equal numbers becomes zeros (the mean was subtracted, as in
layer norm); results shrink as vectors get wider (a sum where an average is due); small
rows are off (eps outside the root); a token's result changes with its neighbours (the
average runs over the wrong axis).

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, small rows and another eps, any leading axes.

Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", section 3;
Touvron et al. 2023, "LLaMA", section 2.2.
"""

import numpy as np


def rms_norm(x: np.ndarray, gamma: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Divide each vector of the last axis by its root mean square; scale its features.

    x:       [..., d_model], any leading axes or none; numbers up to 1e4 in size.
    gamma:   [d_model], the scale of each feature.
    eps:     added to the mean square, under the root.
    returns: [..., d_model], in the dtype of `x`, which is that of `gamma` too.

    No argument is changed.
    """
    raise NotImplementedError
