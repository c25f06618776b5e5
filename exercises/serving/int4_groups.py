"""Four bits for a weight: a scale for each group, and two codes in a byte.

With eight bits one scale for each row of a weight is enough. Four bits have 16 codes
only, and one large number would push all others of its row into a few of them. So each
run of `group_size` neighbouring inputs of a row gets its own scale, and a zero point
too, since a group need not lie evenly around 0. For each group:

    low     = min(0, smallest number of the group)
    high    = max(0, largest number of the group)
    scale   = (high - low) / 15
    zero    = round(-low / scale)
    code    = clip(round(w / scale) + zero, 0, 15)              for each number w
    back    = (code - zero) * scale                             nearly w

`round` takes the nearest whole number, and exact halves to the even one. So does
np.rint. The range always holds 0, so a weight of 0 comes back as exactly 0, also in a
group of positive numbers alone. What comes back is off by half a scale at most. A group
of zeros has the scale 1, the zero point 0 and the codes 0. `group_size` must divide
d_in: all groups have the same size.

Two codes share one byte, the first in the low four bits:

    byte i  =  code 2i  +  16 * code 2i+1                       [d_out, d_in / 2]

Bytes know nothing of groups: with an odd group_size a byte holds the last code of one
group and the first of the next. The layer unpacks the codes, makes the weight from them
and multiplies; x is not quantised. The number of groups is the second axis of `scale`,
and each holds d_in / groups codes:

    weight  = (code - zero of its group) * scale of its group   [d_out, d_in]
    result  = sum over d_in of x * weight                       [..., d_out]

Codes and zero points are uint8, in which 3 - 5 is 254: NumPy does not warn.

Example: one row, [-1, 0.25, 1.85, 2, 0.45, 1, 2, 3], with group_size = 4.

    group 0   low -1, high 2   scale 0.2   zero 5   codes  0  6 14 15
    group 1   low  0, high 3   scale 0.2   zero 0   codes  2  5 10 15
    packed    6 * 16 + 0 = 96, 15 * 16 + 14 = 254, 5 * 16 + 2 = 82, 15 * 16 + 10 = 250
    weight    [-1, 0.2, 1.8, 2, 0.4, 1, 2, 3]

With x = [1, 1, 0, 0, 0, 0, 0, 2] the layer gives -1 + 0.2 + 6 = 5.2.

Elsewhere: AWQ's code takes the smallest and the largest number themselves, so that a
group of positive numbers alone does not fit; GPTQ's takes 0 into the range, as here.
Some formats have no zero point (codes from -8 to 7). llama.cpp keeps the first half of
a block in the low and the second half in the high four bits, AWQ packs eight codes into
32 bits in an order of its own. Which scales hurt the model least, the matter of both
papers, is left out.

What goes wrong: neighbours change places (the other four bits first); weights of 200
and more (a difference in uint8); groups of one sign whose numbers all come back alike;
a code of 16, which does not fit into four bits.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, groups of zeros, groups of one sign, exact halves.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Frantar et al. 2023, "GPTQ: Accurate Post-Training Quantization for Generative
Pre-trained Transformers"; Lin et al. 2023, "AWQ: Activation-aware Weight Quantization
for LLM Compression and Acceleration".
"""

import numpy as np


def quantize_groups(
    weight: np.ndarray,
    group_size: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantise each group of inputs to four bits, with its own scale and zero point.

    weight:     [d_out, d_in], float32 or float64. A group is all zeros, or high - low
                lies between 1e-3 and 1e4.
    group_size: how many neighbouring inputs of a row are one group, at least 1.
    returns:    (codes, scale, zero): codes, uint8 [d_out, d_in], from 0 to 15; scale,
                [d_out, groups] in the dtype of weight; zero, uint8 [d_out, groups].

    ValueError if group_size does not divide d_in. w / scale and low / scale are never
    nearly a half without being one. The array is not changed.
    """
    raise NotImplementedError


def pack_codes(codes: np.ndarray) -> np.ndarray:
    """Put two neighbouring codes into each byte, the first into the low four bits.

    codes:   uint8 [d_out, d_in], from 0 to 15.
    returns: uint8 [d_out, d_in / 2].

    ValueError if d_in is odd. The array is not changed.
    """
    raise NotImplementedError


def unpack_codes(packed: np.ndarray) -> np.ndarray:
    """Take the codes out of their bytes.

    packed:  uint8 [d_out, n], any bytes.
    returns: uint8 [d_out, 2 * n], from 0 to 15.

    The array is not changed.
    """
    raise NotImplementedError


def int4_linear(
    x: np.ndarray,
    packed: np.ndarray,
    scale: np.ndarray,
    zero: np.ndarray,
) -> np.ndarray:
    """Multiply x by a weight that is packed in four bits. There is no bias.

    x:       [..., d_in], any leading axes or none, float32 or float64.
    packed:  uint8 [d_out, d_in / 2].
    scale:   [d_out, groups] in the dtype of x; groups divides d_in.
    zero:    uint8 [d_out, groups], from 0 to 15.
    returns: [..., d_out], in the dtype of x.

    No argument is changed.
    """
    raise NotImplementedError
