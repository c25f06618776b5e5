"""Sinusoidal positions: a clock with many hands.

Attention by itself has no notion of order. Instead of learning a vector for each
position, one can compute it: the columns come in pairs, and each pair is a hand of a
clock, the sine and the cosine of an angle that grows with the position. The first hand
turns by 1 radian a token, each following one more slowly:

    table[pos, 2i]     = sin(pos / 10000^(2i / d_model))
    table[pos, 2i + 1] = cos(pos / 10000^(2i / d_model))     the SAME angle as column 2i

    pos  0, 1, …, seq_len - 1  the row
    i    0, 1, …               the pair; its two columns share the exponent 2i / d_model

With an odd d_model the last pair has no cosine: the table ends on a sine, and the
exponent is still divided by d_model itself.

Example: three positions, d_model = 4. The second hand turns by 1 / 10000^(2/4) = 0.01 a
token.

    sinusoidal_positions(3, 4) = [[0.0,    1.0,     0.0,  1.0   ],
                                  [0.8415, 0.5403,  0.01, 0.99995],
                                  [0.9093, -0.4161, 0.02, 0.9998]]

Turning all hands on by k tokens is a rotation that does not depend on where they stand,
so "k tokens earlier" is a linear function of the table's rows. Distances can be learnt
from it, and a row depends on nothing but its position: a longer text changes none of
the rows before.

Each call returns an array of its own: its caller may write into it.

What goes wrong: an exponent of its own for every column, which still looks like waves;
sines in the left half and cosines in the right one, which is another paper's table; an
odd width that raises, or loses its last column; float32, in which late positions are
off by more than the slow hands move.

Edge cases with their own checks: odd widths, long tables.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
"""

import numpy as np


def sinusoidal_positions(seq_len: int, d_model: int) -> np.ndarray:
    """Compute the table of position vectors.

    seq_len: the number of positions, at least 1; they count from 0.
    d_model: the number of columns, at least 1, even or odd.
    returns: float64 [seq_len, d_model].
    """
    raise NotImplementedError
