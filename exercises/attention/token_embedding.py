"""Token embedding: ids become vectors that know their place.

A model computes with vectors, a text arrives as ids. Each id names a row of the token
table, which says what the token is. Attention by itself has no notion of order, so a
row of the position table, which says where the token stands, is added to it:

    embed(ids)[..., t, :] = token_table[ids[..., t]] + position_table[t]

    ids             [T] or [B, T]         integers from 0 to V - 1
    token_table     [V, d_model]          one row for each token of the vocabulary
    position_table  [max_len, d_model]    one row for each position, from 0 on
    result          [T, d_model] or [B, T, d_model]

Example: four tokens, three positions, d_model = 4.

    token_table = [[1.0, 0.0, 0.4, 0.0],        position_table = [[0,    0, 0, 0   ],
                   [0.2, 1.0, 0.5, 0.0],                          [0.05, 0, 0, 0.05],
                   [0.0, 0.3, 0.8, 1.0],                          [0.1,  0, 0, 0.1 ]]
                   [0.1, 0.5, 1.0, 0.9]]

    embed([0, 1, 2]) = [[1.0,  0.0, 0.4, 0.0 ],
                        [0.25, 1.0, 0.5, 0.05],
                        [0.1,  0.3, 0.8, 1.1 ]]

An id for which there is no row is an error, and so is a text longer than max_len. NumPy
reports neither reliably: the index -1 quietly reads the last row, and a position table
of one row is quietly added to any number of tokens.

What goes wrong: a padding id of -1 that trains the last word of the vocabulary;
positions that follow the batch rather than the text; a table changed by a lookup,
because `+=` wrote into a view of it.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, ids without a batch, texts of full length, the last token.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.4 and 3.5 (there
with a scale and with sinusoids); learned positions: Gehring et al. 2017, "Convolutional
Sequence to Sequence Learning", section 3.1.
"""

import numpy as np


def embed(
    ids: np.ndarray,
    token_table: np.ndarray,
    position_table: np.ndarray,
) -> np.ndarray:
    """Look up the vector of every token, and add the vector of its position.

    ids:            [T] or [B, T], of any integer dtype.
    token_table:    [V, d_model].
    position_table: [max_len, d_model], of the same dtype.
    returns:        [T, d_model] or [B, T, d_model], in the dtype of the tables.

    Raises ValueError where an id is negative or at least V, and where T is larger than
    max_len. No argument is changed.
    """
    raise NotImplementedError
