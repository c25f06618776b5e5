"""Right answers to alibi_bias in other styles; they differ at keys later than the query."""

import math

import numpy as np


class calls_itself_for_the_rest:
    """The published code in other words: a start that is its own ratio, and a call of itself for 2P heads.
    The bias is the slope times the key's position, less that at the query's own."""

    @staticmethod
    def alibi_slopes(num_heads):
        assert num_heads >= 1
        exponent = math.log2(num_heads)
        if exponent.is_integer():
            start = 2 ** (-(2 ** -(exponent - 3)))
            return np.array([start * start**head for head in range(num_heads)])
        power = 2 ** math.floor(exponent)
        again = calls_itself_for_the_rest.alibi_slopes
        return np.concatenate([again(power), again(2 * power)[0::2][: num_heads - power]])

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        key_len = key_len if key_len is not None else query_len
        assert query_len <= key_len
        by_key = calls_itself_for_the_rest.alibi_slopes(num_heads)[:, None, None] * np.arange(key_len)
        own = by_key[:, :, key_len - query_len :].swapaxes(1, 2)
        return by_key - own


class hides_later_keys:
    """-inf at later keys; slopes in a loop of Python's floats."""

    @staticmethod
    def alibi_slopes(num_heads):
        if num_heads <= 0:
            raise ValueError("num_heads must be positive")
        power = 1
        while 2 * power <= num_heads:
            power *= 2
        slopes = [2 ** (-8 * head / power) for head in range(1, power + 1)]
        head = 1
        while len(slopes) < num_heads:
            slopes.append(2 ** (-8 * head / (2 * power)))
            head += 2
        return np.array(slopes)

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        slopes = hides_later_keys.alibi_slopes(num_heads)
        keys = query_len if key_len is None else key_len
        if keys < query_len:
            raise ValueError
        bias = np.full((num_heads, query_len, keys), -np.inf)
        for head in range(num_heads):
            for query in range(query_len):
                own = keys - query_len + query
                bias[head, query, : own + 1] = [slopes[head] * (key - own) for key in range(own + 1)]
        return bias


class mirrors_the_distance:
    """The size of the distance, einsum, and the last rows of a square; zero slopes are left to a check."""

    @staticmethod
    def alibi_slopes(num_heads):
        if num_heads < 1:
            raise ValueError(num_heads)
        power = 2 ** int(np.log2(num_heads))
        extra = np.power(2.0, np.arange(-4.0 / power, -8.0, -8.0 / power))
        return np.hstack([np.exp2(np.linspace(-8 / power, -8, power)), extra])[:num_heads]

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        slopes = mirrors_the_distance.alibi_slopes(num_heads)
        keys = query_len if key_len is None else key_len
        if not 0 < query_len <= keys:
            raise ValueError("the queries are the last of the keys")
        at = np.arange(keys, dtype=np.float64)
        size = np.abs(np.subtract.outer(at, at))[-query_len:]
        return np.einsum("h,qk->hqk", slopes, -size)


class clips_the_distance:
    """0 at later keys; steps summed up from the right."""

    @staticmethod
    def alibi_slopes(num_heads):
        if num_heads < 1:
            raise ValueError("no heads")
        power = 2 ** (len(bin(num_heads)) - 3)
        exponents = [*range(2, 2 * power + 1, 2), *range(1, 2 * power, 2)]
        return 0.5 ** (4 * np.array(exponents[:num_heads]) / power)

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        keys = query_len if key_len is None else key_len
        if keys < query_len:
            raise ValueError("too few keys")
        earlier = np.tri(query_len, keys, keys - query_len - 1)
        distance = np.cumsum(earlier[:, ::-1], axis=1)[:, ::-1]
        return np.multiply.outer(-clips_the_distance.alibi_slopes(num_heads), distance)


_TABLES: dict[tuple[int, int, int], np.ndarray] = {}


class keeps_tables:
    """Biases kept for each number of heads and pair of lengths; windows that slide over one row."""

    @staticmethod
    def alibi_slopes(num_heads):
        if num_heads < 1:
            raise ValueError("no heads")
        powers = [2**n for n in range(12) if 2**n <= num_heads]
        both = [
            [2.0 ** -(8 * head / heads) for head in range(1, heads + 1)]
            for heads in (powers[-1], 2 * powers[-1])
        ]
        return np.array((both[0] + both[1][::2])[:num_heads])

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        key_len = query_len if key_len is None else key_len
        if key_len < query_len:
            raise ValueError("too few keys")
        size = (num_heads, query_len, key_len)
        if size not in _TABLES:
            line = np.arange(1.0 - key_len, query_len)
            rows = np.lib.stride_tricks.sliding_window_view(line, key_len)[:query_len][::-1]
            _TABLES[size] = keeps_tables.alibi_slopes(num_heads).reshape(-1, 1, 1) * rows
        return _TABLES[size].copy()
