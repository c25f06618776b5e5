"""The causal mask: a position sees itself and what came before.

A decoder is trained on whole sequences at once and must not read the token it is asked
to predict. So the scores of each query are masked: the query at position i may attend
to the keys at positions 0 to i, and to no later one. Throughout, a boolean mask is True
where the query MAY attend to the key.

Four tokens, query_len = 4: rows are queries, columns are keys.

    causal_mask(4) = [[True,  False, False, False],
                      [True,  True,  False, False],
                      [True,  True,  True,  False],
                      [True,  True,  True,  True ]]

While a text is generated, the keys of earlier tokens are kept in a cache, and only the
new tokens come as queries. Then there are more keys than queries, and the queries are
the LAST query_len of the key_len positions. Two new tokens after two cached ones stand
at positions 2 and 3:

    causal_mask(2, 4) = [[True,  True,  True,  False],
                         [True,  True,  True,  True ]]

With fewer keys than queries the first queries would have no position at all; that is an
error.

Each call returns an array of its own: its caller may write into it.

What goes wrong: a loss in training that is too good to be true, and babble in
generation (the mask reaches one token too far); a first row without any True, hence NaN
from its softmax (one too short); generation that differs from training as soon as a
cache is used (the triangle sits in the wrong corner).

Edge cases with their own checks: an empty cache, one query, a cache of hundreds of
keys.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3.
"""

import numpy as np


def causal_mask(query_len: int, key_len: int | None = None) -> np.ndarray:
    """Say which query may attend to which key.

    query_len: the number of queries, at least 1.
    key_len:   the number of keys; None means as many as queries. The queries are the
               last of its positions.
    returns:   bool [query_len, key_len], True where the query may attend to the key.

    Raises ValueError where key_len is smaller than query_len (0 included).
    """
    raise NotImplementedError
