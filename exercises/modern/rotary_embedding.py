"""Rotary position embedding: a position becomes an angle, and attention sees distances.

Attention by itself does not know where a token stands. RoPE does not add a position to
the token's vector; it turns the vector. The d_head numbers of a query or a key are read
as d_head / 2 pairs, each pair as a point in a plane, and every plane is turned by the
position times a frequency of its own, fast for the first pair, slow for the last:

    frequency_i = base^(-2i / d_head)           i = 0 ... d_head/2 - 1
    angle       = position * frequency_i

    result[2i]     = x[2i] * cos(angle) - x[2i + 1] * sin(angle)
    result[2i + 1] = x[2i] * sin(angle) + x[2i + 1] * cos(angle)

Pairs are neighbours here: columns 0 and 1, columns 2 and 3, and so on, as in the paper.
(Some models pair column i with column i + d_head/2; their weights are arranged for
that, and the two do not mix.)

Turning keeps lengths. And since the dot product of two vectors depends on the angle
between them alone, the score of a query at position m with a key at position n depends
on m - n, wherever the two stand. Queries and keys are turned, values are not. With a
cache the new token's position is not 0: positions are given.

Example: d_head = 4, so the angles are position and position / 100; x = [1, 0, 1, 0] at
three positions.

    position 0    [ 1.0,    0.0,    1.0,    0.0  ]
    position 1    [ 0.5403, 0.8415, 1.0,    0.01 ]
    position 2    [-0.4161, 0.9093, 0.9998, 0.02 ]

What goes wrong: the second line of the formula reads what the first has already
overwritten; the pairs are halves where they should be neighbours, or are not put back
in turn; positions are counted from 0 although others were given, which shows as soon as
there is a cache; all pairs turn at one speed.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, another base, positions with gaps or in any order, any leading axes.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding",
section 3.2 and equation 34.
"""

import numpy as np


def rotary_embedding(
    x: np.ndarray,
    positions: np.ndarray,
    base: float = 10000.0,
) -> np.ndarray:
    """Turn each token's pairs of neighbouring columns by its position.

    x:         [..., T, d_head], queries or keys, any axes in front of the tokens or
               none; d_head is even.
    positions: [T], integers from 0 to 250, of any integer dtype and in any order: where
               each token stands.
    base:      above 1; the larger, the slower the last pairs turn.
    returns:   [..., T, d_head], in the dtype of `x`. With a float32 `x` the angles may
               be float32 too.

    ValueError where d_head is odd. No argument is changed.
    """
    raise NotImplementedError
