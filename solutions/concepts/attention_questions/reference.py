"""Vaswani et al. 2017, sections 3.2 and 3.5."""

import math

import numpy as np


def _visible(queries, cached, query):
    """One row of the causal mask."""
    return np.arange(cached + queries) <= cached + query  # [keys]


def SHAPE_OF_Q(batch, heads, queries, d_model, **_):
    return (batch, heads, queries, d_model // heads)


def SHAPE_OF_SCORES(batch, heads, queries, cached, **_):
    return (batch, heads, queries, cached + queries)


def SCALE(heads, d_model, **_):
    return math.sqrt(d_model // heads)


def ROWS_THAT_SUM_TO_ONE(batch, heads, queries, **_):
    return batch * heads * queries


def VISIBLE_KEYS(queries, cached, query, **_):
    return np.flatnonzero(_visible(queries, cached, query)).tolist()


def WINDOW_KEYS(cached, query, window, **_):
    return tuple(range(cached + query + 1)[-window:])


def UNPADDED_KEYS(queries, cached, query, pads, **_):
    keys = np.arange(cached + queries)
    return np.flatnonzero(_visible(queries, cached, query) & (keys >= pads))


def POSITION_ID(cached, query, pads, **_):
    return cached + query - pads
