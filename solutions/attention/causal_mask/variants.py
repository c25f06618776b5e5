"""Right answers in other styles."""

from functools import cache

import numpy as np


def takes_the_lower_triangle(query_len: int, key_len: int | None = None) -> np.ndarray:
    """Another way: take a lower triangle, moved to the right by the number of cached keys.

    np.tri with an offset; an assertion in place of the ValueError.
    """
    key_len = query_len if key_len is None else key_len
    assert key_len >= query_len, "fewer keys than queries"
    return np.tri(query_len, key_len, key_len - query_len, dtype=bool)


def negates_the_upper_triangle(query_len: int, key_len: int | None = None) -> np.ndarray:
    """The future is marked with np.triu, then negated."""
    if key_len is None:
        key_len = query_len
    if query_len > key_len:
        raise ValueError("the queries are the last positions of the keys")
    future = np.triu(np.ones((query_len, key_len)), k=1 + key_len - query_len)
    return ~future.astype(bool)


def cuts_the_last_rows(query_len: int, key_len: int | None = None) -> np.ndarray:
    """The last rows of the square mask of all positions; a view."""
    if key_len is None:
        key_len = query_len
    if not 0 < query_len <= key_len:
        raise ValueError(f"no room for {query_len} queries among {key_len} keys")
    return np.tril(np.ones((key_len, key_len), dtype=np.bool_))[-query_len:]


def joins_the_cached_columns(query_len: int, key_len: int | None = None) -> np.ndarray:
    """Columns of True for the cached keys, joined with a square triangle."""
    cached = 0 if key_len is None else key_len - query_len
    if cached < 0:
        raise ValueError("negative number of cached keys")
    square = np.tril(np.full((query_len, query_len), True))
    return np.concatenate([np.ones((query_len, cached), dtype=bool), square], axis=1)


def fills_in_row_by_row(query_len: int, key_len: int | None = None) -> np.ndarray:
    """A loop over the queries."""
    keys = query_len if key_len is None else key_len
    if keys < query_len:
        raise ValueError
    mask = np.zeros((query_len, keys), dtype=bool)
    for row in range(query_len):
        mask[row, : keys - query_len + row + 1] = True
    return mask


@cache
def _triangle(query_len: int, key_len: int) -> np.ndarray:
    return np.array(
        [[key - query <= key_len - query_len for key in range(key_len)] for query in range(query_len)]
    )


def keeps_masks_in_a_cache(query_len: int, key_len: int | None = None) -> np.ndarray:
    """Nested lists, computed once for each pair of lengths; a copy."""
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError("key_len must be at least query_len")
    return _triangle(query_len, key_len).copy()
