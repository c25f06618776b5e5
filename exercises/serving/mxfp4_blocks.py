"""MXFP4: floating-point numbers of four bits, and a power of two for each block.

A whole number of four bits has equal steps, while weights have many small numbers and a
few large ones. The format of several chips and of published models is a tiny
floating-point number instead, E2M1: a sign, two bits of exponent, one of mantissa.

    bits of a code   s e e m
    value            (-1)^s * 2^(e - 1) * (1 + m / 2)       where e is 1, 2 or 3
                     (-1)^s * m / 2                         where e is 0

    code             0    1    2    3    4    5    6    7
    value            0  0.5    1  1.5    2    3    4    6

Codes 8 to 15 are the same with a minus, and code 8 is -0. There is no infinity and no
NaN. A number becomes the code of the nearest value, and where two are equally near the
one whose code is even: 0.25 becomes 0; 0.75 and 1.25 become 1; 1.75 and 2.5 become 2;
3.5 and 5 become 4. What is larger than 6 becomes 6. The sign bit is that of the number:
-0.1 and -0.0 have the code 8.

Each block of `block_size` neighbours of a row, 32 in the standard, shares a scale, a
power of two. Its exponent is stored in a byte of its own (E8M0):

    shared   = floor(log2(largest size in the block)) - 2, from -127 to 127
    byte     = shared + 127                                 0 ... 254; 255 is NaN
    code     = code of x / 2^shared                         for each number x
    back     = value of the code * 2^(byte - 127)

The 2 is the exponent of 4, the largest power of two of E2M1. So the largest number of
a block has a size from 4 up to 8 in units of the scale; from 6 on it is cut off.
`shared` is -127 where the formula gives less, and in a block of zeros, which gets the
byte 0 and the codes 0. (A float32 never needs more than 125.) A scale that is a power
of two changes no digit of a number, so the codes are exact, and to quantise what came
back changes nothing.

floor(log2(...)) is meant exactly, for 2 ** 0.5 as for 8 and for the float32 just
below 8. A logarithm in float32 is rounded, and gives 3 for that one too.

Example: block_size = 4.

    x        0.9  -2.2    7  0.3           0.05    -0.01      0.02     0.012
    shared   2 - 2 = 0                     -5 - 2 = -7
    byte     127                           120
    in units 0.9  -2.2    7  0.3           6.4     -1.28      2.56     1.536
    values     1    -2    6  0.5           6       -1.5       3        1.5
    codes      2    12    7    1           7         11       5          3
    back       1    -2    6  0.5           0.046875  -0.01171875  0.0234375  0.01171875

Elsewhere: other rules for the scale are in use and allowed: the next power of two above
the largest / 6, by which nothing is cut off, or a largest number that is rounded first.
NVFP4 has blocks of 16 and a scale of eight bits with a mantissa. How two codes share a
byte is another matter; here each has its own.

What goes wrong: a number above 6 gets the sign bit (code 8 in place of 7); a byte below
127 wraps round (120 - 127 is 249 in uint8); halves are rounded up, where every second
one goes down; the scale byte 0 is taken for 0, where it is 2^-127.

Edge cases with their own checks: arrays that are not contiguous, numbers half-way
between two values, negative numbers that become -0, a largest number that is a power of
two or just below one, blocks that need the scale byte 0. NaN and infinity are not
graded, nor is the code of -0.0 in a block of zeros, nor the sign of a 0 that comes
back.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Open Compute Project 2023, "OCP Microscaling Formats (MX) Specification",
version 1.0, section 6.3; Rouhani et al. 2023, "Microscaling Data Formats for Deep
Learning".
"""

import numpy as np


def encode_e2m1(numbers: np.ndarray) -> np.ndarray:
    """Give each number the code of the nearest value of E2M1.

    numbers: float32, any shape of at least one axis.
    returns: uint8, the same shape, from 0 to 15.

    The array is not changed.
    """
    raise NotImplementedError


def quantize_mxfp4(
    x: np.ndarray,
    block_size: int = 32,
) -> tuple[np.ndarray, np.ndarray]:
    """Quantise each block of neighbours to codes of E2M1 and a scale byte.

    x:          [..., n], float32, any leading axes or none.
    block_size: how many neighbours along the last axis are one block, at least 1.
    returns:    (codes, scales): codes, uint8 [..., n], from 0 to 15; scales, uint8
                [..., n / block_size], the bytes.

    ValueError if block_size does not divide n. The array is not changed.
    """
    raise NotImplementedError


def dequantize_mxfp4(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Turn codes and scale bytes back into numbers.

    codes:   uint8 [..., n], from 0 to 15.
    scales:  uint8 [..., blocks], bytes up to 252; blocks divides n.
    returns: float32 [..., n].

    No argument is changed.
    """
    raise NotImplementedError
