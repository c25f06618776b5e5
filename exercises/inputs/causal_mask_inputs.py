"""Find inputs that show what is wrong with three causal masks.

A right causal_mask(query_len, key_len) is True where a query may see a key, as in the
kata `causal_mask`: the queries are the last of key_len positions, and each sees itself
and all keys before it. Three functions do something else:

    def first_corner(query_len, key_len):
        return np.arange(key_len) <= np.arange(query_len)[:, None]

    def blind(query_len, key_len):
        query = np.arange(key_len - query_len, key_len)[:, None]
        return np.arange(key_len) < query

    def window(query_len, key_len):
        query = np.arange(key_len - query_len, key_len)[:, None]
        key = np.arange(key_len)
        return (key <= query) & (key > query - 4)

Replace each `...` by an input on which this function and a right one differ: a dict of
the arguments by name, such as {"query_len": 3, "key_len": 3}. There are 1 to 64 keys,
and at most as many queries as keys. Try small ones. Each input is one point.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3.
"""

# An input on which first_corner is wrong.
FIRST_CORNER = ...

# An input on which blind is wrong.
BLIND = ...

# An input on which window is wrong.
WINDOW = ...
