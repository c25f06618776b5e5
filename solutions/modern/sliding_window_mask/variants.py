"""Right answers to sliding_window_mask in other styles."""

from functools import lru_cache

import numpy as np


def subtracts_triangles(query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0):
    """Another way: subtract one lower triangle from another, and open the sinks' columns.

    np.tri twice; an assertion in place of the ValueError; the columns of the sinks opened in place.
    """
    keys = query_len if key_len is None else key_len
    assert window >= 1
    assert num_sinks >= 0
    assert keys >= query_len, "fewer keys than queries"
    past = np.tri(query_len, keys, keys - query_len, dtype=bool)
    mask = past & ~np.tri(query_len, keys, keys - query_len - window, dtype=bool)
    mask[:, :num_sinks] = past[:, :num_sinks]
    return mask


def joins_conditions(query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0):
    """Hugging Face's manner in other words: functions of two positions, joined by `and` and `or`."""

    def causal(query, key):
        return key <= query

    def near(query, key):
        return key > query - window

    def sink(_, key):
        return key < num_sinks

    if key_len is None:
        key_len = query_len
    if query_len > key_len:
        raise ValueError("too few keys")
    if window <= 0 or num_sinks < 0:
        raise ValueError("window must be positive and num_sinks not negative")
    query, key = np.ogrid[key_len - query_len : key_len, 0:key_len]
    return np.logical_and(causal(query, key), np.logical_or(near(query, key), sink(query, key)))


def fills_in_row_by_row(query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0):
    """Slices, one row at a time."""
    keys = query_len if key_len is None else key_len
    if keys < query_len or window < 1 or num_sinks < 0:
        raise ValueError
    mask = np.zeros((query_len, keys), dtype=bool)
    for row, position in enumerate(range(keys - query_len, keys)):
        mask[row, max(0, position + 1 - window) : position + 1] = True
        mask[row, : min(num_sinks, position + 1)] = True
    return mask


def cuts_the_last_rows(query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0):
    """np.triu of np.tril of the square of all keys, as Mistral's first code made it; a view."""
    key_len = query_len if key_len is None else key_len
    if not (1 <= query_len <= key_len and window >= 1 and num_sinks >= 0):
        raise ValueError("no such mask")
    causal = np.tril(np.ones((key_len, key_len)))
    band = np.triu(causal, -(window - 1))
    band[:, :num_sinks] += causal[:, :num_sinks]
    return band[-query_len:] > 0


@lru_cache
def _lists(query_len, window, key_len, num_sinks):
    rows = [
        [0 <= at - key < window or (key < num_sinks and key <= at) for key in range(key_len)]
        for at in range(key_len - query_len, key_len)
    ]
    return np.array(rows, dtype=np.bool_)


def keeps_nested_lists(query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0):
    """Entry by entry, kept for each set of arguments; an array that cannot be written."""
    if key_len is None:
        key_len = query_len
    if key_len < query_len or window < 1 or num_sinks < 0:
        raise ValueError("wrong arguments")
    mask = _lists(query_len, window, key_len, num_sinks)
    mask.flags.writeable = False
    return mask


def slides_over_one_line(query_len: int, window: int, key_len: int | None = None, num_sinks: int = 0):
    """Windows of NumPy's over one line of True, read backwards."""
    key_len = query_len if key_len is None else key_len
    if min(window, key_len - query_len + 1, num_sinks + 1) < 1:
        raise ValueError("wrong arguments")
    line = np.zeros(key_len + query_len - 1, dtype=bool)
    line[max(key_len - window, 0) : key_len] = True
    mask = np.lib.stride_tricks.sliding_window_view(line, key_len)[:query_len][::-1].copy()
    past = np.cumsum(mask[:, ::-1], axis=1)[:, ::-1] > 0
    mask[:, :num_sinks] |= past[:, :num_sinks]
    return mask
