"""causal_mask: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "causal_mask",
    track="attention",
    entry_points=("causal_mask",),
    title="No looking ahead",
    axes={"result": "query key"},
    source="Vaswani et al. 2017, section 3.2.3",
    hints=(
        "Write down the position of each query and of each key, then say in words when one may see the "
        "other. Without a cache query i stands at position i.",
        "With more keys than queries, the first query stands at position key_len - query_len. Broadcasting "
        "a column of positions against a row of positions compares every query with every key.",
        "Take query_len for key_len if it is None (0 is not None), and refuse fewer keys than queries. Then "
        "compare: the key's position is at most the query's, where the queries have the last query_len of "
        "the positions 0 to key_len - 1.",
    ),
    hint_for={
        "marks_the_future": 1,
        "sees_one_token_ahead": 1,
        "hides_each_query_from_itself": 1,
        "looks_forward": 1,
        "counts_queries_from_the_first_key": 2,
        "turns_the_offset_round": 2,
        "stands_one_position_early": 2,
        "stands_one_position_late": 2,
        "puts_queries_in_columns": 2,
        "takes_zero_for_none": 3,
    },
)


@KATA.cases
def lengths(draw):
    """Short lengths mostly, with a cache and without one; so many long ones that no table knows them all."""
    query_len = draw(st.sampled_from([2, 3, 4, 1, 5, 6]) | st.integers(1, 20) | st.integers(21, 60))
    short = draw(st.sampled_from([True, True, False]))
    cached = draw(st.none() | st.integers(0, 20) if short else st.integers(21, 60) | st.integers(120, 300))
    return {"query_len": query_len, "key_len": None if cached is None else query_len + cached}


@KATA.corner(points=0.5)
def an_empty_cache(query_len, key_len):
    """key_len may be given and equal query_len."""
    return key_len == query_len


@KATA.corner(points=0.5)
def one_query(query_len):
    """One query has a mask of two axes, and sees every key."""
    return query_len == 1


@KATA.corner(points=0.5)
def long_caches(key_len):
    """A cache may hold hundreds of keys."""
    return key_len is not None and key_len > 100


def too_few_keys(draw):
    """Fewer keys than queries; none at all among them."""
    query_len = draw(st.integers(1, 6) | st.integers(1, 60))
    return {"query_len": query_len, "key_len": draw(st.just(0) | st.integers(0, query_len - 1))}


@KATA.example
def four_tokens():
    return {"query_len": 4, "key_len": None}


@KATA.example
def two_tokens_after_two_cached():
    return {"query_len": 2, "key_len": 4}


@KATA.example
def one_token_after_many():
    return {"query_len": 1, "key_len": 12}


@KATA.example
def two_tokens_without_a_cache():
    return {"query_len": 2, "key_len": 2}


@KATA.example
def two_tokens_after_three_hundred():
    return {"query_len": 2, "key_len": 302}


@KATA.observe
def observe(student, query_len, key_len):
    """None is left out of the call, so that the default is judged too."""
    if key_len is None:
        return {"result": student.causal_mask(query_len)}
    return {"result": student.causal_mask(query_len, key_len)}


def permissions(student, query_len, key_len):
    """What causal_mask returns, as booleans; zeros and ones are read as such, the dtype is judged apart."""
    mask = student.causal_mask(query_len, key_len)
    shape = (query_len, query_len if key_len is None else key_len)
    found = getattr(mask, "shape", None)
    expect.true(found == shape, f"The mask must have the shape {shape}, a row a query; it came with {found}.")
    expect.true(np.isin(mask, (0, 1)).all(), "The mask must hold nothing but True and False.")
    return mask.astype(bool)


@KATA.law(points=0.5)
def test_each_query_sees_itself(student, query_len, key_len):
    """Every query may attend to its own position and to all before it."""
    mask = permissions(student, query_len, key_len)
    for row, position in zip(mask, range(mask.shape[1] - query_len, mask.shape[1]), strict=True):
        past = row[: position + 1]
        expect.equal(past, np.ones(position + 1, dtype=bool), f"the row of position {position}, up to itself")


@KATA.law(points=1)
def test_the_future_is_hidden(student, query_len, key_len):
    """No query may attend to a later position."""
    mask = permissions(student, query_len, key_len)
    for row, position in zip(mask, range(mask.shape[1] - query_len, mask.shape[1]), strict=True):
        future = row[position + 1 :]
        expect.equal(future, np.zeros(len(future), dtype=bool), f"the row of position {position}, beyond it")


@KATA.law(points=1)
def test_a_cache_changes_nothing(student, query_len, key_len):
    """New tokens see through a cache what they would see in the whole sequence."""
    whole = permissions(student, key_len or query_len, None)
    expect.equal(permissions(student, query_len, key_len), whole[-query_len:], "the mask of the new tokens")


@KATA.law(points=0.5)
def test_none_means_as_many(student, query_len):
    """Without key_len there are as many keys as queries."""
    given = permissions(student, query_len, query_len)
    omitted = permissions(student, query_len, None)
    expect.equal(
        omitted, given, f"causal_mask({query_len}, None), beside causal_mask({query_len}, {query_len}),"
    )


@KATA.law(points=1, cases=too_few_keys)
def test_refuses_too_few_keys(student, query_len, key_len):
    """Fewer keys than queries raise a ValueError."""
    student.causal_mask(query_len, query_len + key_len)  # so that refusing everything gives no points
    queries = "1 query" if query_len == 1 else f"{query_len} queries"
    why = f"{queries} cannot be the last of {key_len} positions"
    expect.refuses(student.causal_mask, query_len, key_len, why=why)
