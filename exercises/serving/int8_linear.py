"""Quantisation to eight bits: half the memory, nearly the same numbers.

The weights of a large model fill its memory, and reading them takes most of a step's
time. Stored as int8 they take a quarter of float32. Each row of numbers gets a scale of
its own, by which its largest becomes 127 or -127; all others are rounded to whole steps
of that scale:

    scale  = the largest |x_j| of the row / 127         [..., 1]
    q      = x / scale, rounded to the nearest          int8 [..., n], from -127 to 127
             whole number, halves to the even one

What comes back, q * scale, is off by half a scale at most. A row of zeros becomes
zeros, whatever its scale; that scale is a finite number. It may be 0: 0 / 0 is NaN, of
which int8 makes 0 on most machines, so it passes; no standard promises it.

A linear layer quantises its input in the same way, row by row, so that the sum over
d_in is a sum of products of whole numbers. It is computed exactly, and the two scales
multiply it at the end:

    x_q, x_scale  = quantize_rows(x)                  int8 [..., d_in], [..., 1]
    sums          = sum over d_in of x_q * w_q        whole numbers [..., d_out]
    result        = sums * x_scale * w_scale          [..., d_out]

`w_scale` is [d_out, 1], one for each output. A product of two int8 reaches 16,129 and a
sum of 1,024 of them 16,516,096, while int8 ends at 127 and int16 at 32,767: NumPy does
not warn, it wraps round.

Example: x = [1.27, -0.5, 0.004], and a weight of two rows.

    quantize_rows(x)                            scale 0.01           q [127, -50, 0]
    quantize_rows([[2.54, 0, 0], [1, 1, 1]])    scales 0.02, 1/127   q [[127, 0, 0],
                                                                        [127, 127, 127]]
    result  = [127 * 127 * 0.01 * 0.02, 77 * 127 * 0.01 / 127] = [3.2258, 0.77]

In floats it would be [3.2258, 0.774]: the 0.004 is less than half a step, and is lost.

Public code differs: the paper multiplies by 127 / max|x| and divides at the end,
bitsandbytes keeps max|x| itself, some divide by 127.5 or 128. Here the scale is what q
is multiplied by. The outlier columns of the paper are left out.

What goes wrong: results that are wrong by thousands (a sum of int8 is int8); NaN from a
row of zeros; -128 where 128 does not fit; a cast to int8 that cuts off and does not
round; float64 from a float32 scale and an int32 sum.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, rows of zeros, exact halves, rows of up to 1,024 numbers.

Source: Dettmers et al. 2022, "LLM.int8(): 8-bit Matrix Multiplication for Transformers
at Scale", section 2.1 (absmax quantisation) and section 3.1 (vector-wise quantisation).
"""

import numpy as np


def quantize_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantise each row to int8 with a scale of its own.

    x:       [..., n], any leading axes or none, float32 or float64. A row is all zeros,
             or its largest number is above 0.01 in size.
    returns: q, int8 [..., n], and scale, [..., 1] in the dtype of x; q * scale is
             nearly x.

    x / scale is never nearly a half without being one. `x` itself stays as it is.
    """
    raise NotImplementedError


def int8_linear(x: np.ndarray, w_q: np.ndarray, w_scale: np.ndarray) -> np.ndarray:
    """Multiply x by a quantised weight, in whole numbers.

    x:       [..., d_in], as above, d_in up to 1024.
    w_q:     int8 [d_out, d_in], and
    w_scale: [d_out, 1] in the dtype of x: what `quantize_rows` gives for the weight.
    returns: [..., d_out], in the dtype of x. There is no bias.

    The arguments themselves stay as they are.
    """
    raise NotImplementedError
