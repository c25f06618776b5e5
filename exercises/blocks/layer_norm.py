"""Layer norm: every token's vector brought to one size.

As vectors run through a deep stack, some grow and some drift, and the layers after them
have to follow. Layer norm takes each token's vector by itself, subtracts the mean of
its d_model numbers, and divides by their standard deviation. Two learnt vectors, gamma
and beta, then give each feature a scale and an offset of its own:

    mean     = average of the d_model numbers of a token                      [..., 1]
    variance = average of (x - mean)^2, divided by d_model, not d_model - 1   [..., 1]
    result   = gamma * (x - mean) / sqrt(variance + eps) + beta         [..., d_model]

Nothing is shared between tokens or between the sequences of a batch: each row has its
own mean and its own variance, in training and afterwards alike. The small `eps` under
the root keeps a row of nearly equal numbers from being divided by nearly zero.

Example: d_model = 4, gamma all ones, beta all zeros, eps = 1e-5.

    x       = [[1.0, 2.0, 0.0, 1.0],          mean 1.0, variance 0.50
               [0.2, 0.4, 0.8, 0.6]]          mean 0.5, variance 0.05
    result  = [[ 0.0000,  1.4142, -1.4142, 0.0000],
               [-1.3415, -0.4472,  1.3415, 0.4472]]

The rows of the result have mean 0 and the variances 1.0000 and 0.9998: eps takes a
little off, and more from the row with the smaller spread.

What goes wrong: a token's result changes with its neighbours (the average runs over the
wrong axis); results are a little too small (d_model - 1) or off in the fifth digit (eps
outside the root); float32 rows that stand far from zero come out as noise or NaN,
because "mean of the squares minus square of the mean" takes the difference of two huge,
nearly equal numbers.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, rows far from zero, eps where it shows.

Source: Ba, Kiros and Hinton 2016, "Layer Normalization", section 3; Vaswani et al.
2017, "Attention Is All You Need", section 3.1.
"""

import numpy as np


def layer_norm(
    x: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    eps: float = 1e-5,
) -> np.ndarray:
    """Normalise each vector along the last axis, then scale and shift its features.

    x:       [..., d_model], any leading axes or none. Rows may stand as far as 1e4 from
             zero with a spread of 1, in float32 too.
    gamma:   [d_model], the scale of each feature.
    beta:    [d_model], the offset of each feature.
    eps:     added to the variance, under the root.
    returns: [..., d_model], in the dtype of `x`, which is that of `gamma` and `beta`
             too.

    No argument is changed.
    """
    raise NotImplementedError
