"""ALiBi: the farther, the less; positions as a bias on the scores.

A model can do without position embeddings: each score loses an amount that grows with
the distance from the query to the key. Every head has a slope of its own, so some heads
look far back and others hardly at all. Because only distances count, a model works on
longer texts than it was trained on.

    bias[h, i, j] = -slope_h * (position of query i - j)   for j up to query i's place

For a power of two as number of heads H, head h = 1 ... H has the slope

    slope_h = 2^(-8 h / H)                         H = 4:  1/4, 1/16, 1/64, 1/256

For other H, take the largest power of two P below H. The list is the P slopes of P
heads, followed by the 1st, 3rd, 5th ... slope of 2P heads, until there are H. Nothing
is sorted:

    alibi_slopes(6) = [1/4, 1/16, 1/64, 1/256, 1/2, 1/8]  4 of 4 heads; 1st and 3rd of 8

A cache may hold more keys than there are queries: the queries are then the LAST
query_len of the key_len positions. One new token after three cached ones stands at
position 3; for the slope 1/4:

    alibi_bias(6, 1, 4)[0] = [[-0.75, -0.5, -0.25, 0.0]]

Public code differs: the formula 2^(-8 h / H) is often used for every H; the paper's own
code, BLOOM and MPT use the list above. BLOOM and MPT also take slope times the key's
position, which differs from the bias above by a constant in each row, and so not after
a softmax. Here the bias is 0 at the query's own key.

Entries of keys later than their query are not graded, since a causal mask hides them:
0, -inf and any other number are right there.

Each call returns an array of its own: its caller may write into it.

What goes wrong: slopes for 12 heads that are no list of the paper's; biases that reward
distance (the sign); rows that are counted from the first key although a cache holds
earlier ones.

Edge cases with their own checks: an empty cache, one query, a cache of hundreds of
keys.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Press, Smith and Lewis 2022, "Train Short, Test Long: Attention with Linear
Biases Enables Input Length Extrapolation", section 3, and the code published with it.
"""

import numpy as np


def alibi_slopes(num_heads: int) -> np.ndarray:
    """Compute the slope of each head.

    num_heads: any number from 1.
    returns:   float64 [num_heads], positive.

    Raises ValueError where num_heads is below 1.
    """
    raise NotImplementedError


def alibi_bias(
    num_heads: int,
    query_len: int,
    key_len: int | None = None,
) -> np.ndarray:
    """Compute what is added to the scores of each head.

    query_len: the number of queries, at least 1.
    key_len:   the number of keys; None means as many as queries. The queries are the
               last of its positions.
    returns:   float64 [num_heads, query_len, key_len].

    Raises ValueError where num_heads is below 1, or key_len is smaller than query_len
    (0 included).
    """
    raise NotImplementedError
