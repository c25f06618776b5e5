"""As in the code of the paper: slopes by a recursion over powers of two, distances by arange and tril."""

import math

import numpy as np


def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("there is at least one head")

    def power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    def slopes(n):
        if math.log2(n).is_integer():
            return power_of_two(n)
        closest = 2 ** math.floor(math.log2(n))
        return power_of_two(closest) + slopes(2 * closest)[0::2][: n - closest]

    return np.array(slopes(num_heads))


def alibi_bias(num_heads, query_len, key_len=None):
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError("there are fewer keys than queries")
    context = np.arange(key_len - query_len, key_len)[:, None]
    memory = np.arange(key_len)[None, :]
    distance = np.abs(memory - context)
    return alibi_slopes(num_heads)[:, None, None] * -distance.astype(float)
