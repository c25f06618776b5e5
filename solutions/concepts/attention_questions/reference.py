"""Vaswani et al. 2017, sections 3.2 and 3.5."""

import math

import numpy as np


def _visible(queries, cached):
    """The causal mask with a cache: True where the query may see the key."""
    return np.tri(queries, cached + queries, cached, dtype=bool)  # [queries, keys]


def _places(row):
    return tuple(np.flatnonzero(row).tolist())


def SHAPE_OF_Q(batch, heads, queries, d_model, **_):
    return (batch, heads, queries, d_model // heads)


def SHAPE_OF_SCORES(batch, heads, queries, cached, **_):
    return (batch, heads, queries, cached + queries)


def SCALE(heads, d_model, **_):
    return math.sqrt(d_model // heads)


def ROWS_THAT_SUM_TO_ONE(batch, heads, queries, **_):
    return batch * heads * queries


def VISIBLE_KEYS(queries, cached, query, **_):
    return _places(_visible(queries, cached)[query])


def WINDOW_KEYS(cached, query, window, **_):
    position = cached + query
    return tuple(range(position - window + 1, position + 1))


def UNPADDED_KEYS(queries, cached, query, pads, **_):
    keys = np.arange(cached + queries)
    return _places(_visible(queries, cached)[query] & (keys >= pads))


def POSITION_ID(cached, query, pads, **_):
    return cached + query - pads
