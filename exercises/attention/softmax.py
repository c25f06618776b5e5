"""Softmax: scores become probabilities.

Attention compares a query with every key and gets one score (a logit) a key: any real number. To mix
the values it needs weights: none negative, and together 1. Softmax raises e to each score and divides
by the sum along one axis:

    softmax(x)_i = exp(x_i) / sum_j exp(x_j)

A difference of scores becomes a ratio of weights: a score that is larger by 1 gets e = 2.718 times the
weight. Adding one number to all scores of a slice therefore changes nothing, and that freedom is what
makes softmax computable: exp overflows above 88 in float32 and above 709 in float64, although every
probability lies between 0 and 1.

Example: for a query and three keys of width d_head = 64 the raw scores are

    x                  = [12.4, 9.1, 3.8]         softmax: [0.964, 0.036, 0.000]
    x / sqrt(64)       = [1.55, 1.138, 0.475]     softmax: [0.499, 0.330, 0.170]

A masked position comes with the score -inf. It gets probability 0, and the others share the rest:

    softmax([0.0, -inf, 0.0]) = [0.5, 0.0, 0.5]

What goes wrong: NaN where scores are large (inf / inf) or all very negative (0 / 0); rows that no longer
sum to one where the axis is not the last; nonsense where the scores are small integers, since
`uint8(3) - uint8(5)` is 254.

Corners with checks of their own: arrays that are not contiguous, float64 input computed in float64, extreme
scores, -inf, integers.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1; for the stable form, Goodfellow,
Bengio and Courville 2016, "Deep Learning", section 4.1.
"""

import numpy as np


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Turn scores into probabilities along one axis.

    x:       scores of any shape with at least one axis. float32 or float64, of any size, or any integer
             dtype with values up to 2**53 in size. Entries may be -inf; every slice along `axis` has at
             least one that is not. Digits that rounding costs where large scores lie close together,
             as in exp(x - log(sum)), are not graded.
    axis:    the axis along which the probabilities sum to 1; a negative one counts from the end.
    returns: probabilities of the shape of `x`, in its dtype; float64 where `x` is of integers.

    `x` itself stays as it is.
    """
    raise NotImplementedError
