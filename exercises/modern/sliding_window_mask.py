"""The sliding window: the last few tokens, and the very first.

A causal mask lets each query read the whole past, so the cost of a token grows with the
text. Mistral, Gemma and GPT-OSS let most layers read a window alone: the last `window`
keys up to the query's own. Their cache then has a fixed size. Models put much of their
attention on the very first tokens, whatever these say; a window that loses sight of
them babbles. So the first `num_sinks` keys may stay visible, as attention sinks.

A boolean mask is True where the query MAY attend to the key. For a query at position p
and a key at position j it is True where j <= p, and

    p - window < j          one of the last `window` keys, the query's own among them
    or  j < num_sinks       one of the first keys of the sequence, on top of the window

A cache may hold more keys than there are queries: the queries are then the LAST
query_len of the key_len positions. The tokens 4 and 5 of six, with a window of 2 and
one sink (1 is True):

    sliding_window_mask(2, 2, 6, 1) = [[1, 0, 0, 1, 1, 0],
                                       [1, 0, 0, 0, 1, 1]]

`window` and `num_sinks` may exceed key_len. With fewer keys than queries the first
queries would have no position; that is an error, and so are a window below 1 and a
negative number of sinks.

Public code differs by one: Hugging Face and vLLM count as here, Mistral's first code
and the sentence of its paper ("between i - W and i") reach one key further.
Longformer's window lies on both sides of the query.

Each call returns an array of its own: its caller may write into it.

What goes wrong: a window of `window` keys besides the query's own; sinks that are taken
from the window; sinks that show a query its future; rows counted from the first key
although a cache holds earlier ones.

Edge cases with their own checks: an empty cache, one query, a cache of hundreds of
keys, more sinks than the first query has keys.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Beltagy, Peters and Cohan 2020, "Longformer", section 3.1; Jiang et al. 2023,
"Mistral 7B", section 2; Xiao et al. 2024, "Efficient Streaming Language Models with
Attention Sinks", section 3.2.
"""

import numpy as np


def sliding_window_mask(
    query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0
) -> np.ndarray:
    """Say which query may attend to which key.

    query_len: the number of queries, at least 1.
    window:    how many keys up to its own a query may attend to, at least 1.
    key_len:   the number of keys; None means as many as queries. The queries are the
               last of its positions.
    num_sinks: how many of the first keys every query may attend to besides, as far as
               they are not later.
    returns:   bool [query_len, key_len], True where the query may attend to the key.

    Raises ValueError where window is below 1, num_sinks is negative, or key_len is
    smaller than query_len (0 included).
    """
    raise NotImplementedError
