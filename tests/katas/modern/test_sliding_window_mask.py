"""sliding_window_mask: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "sliding_window_mask",
    track="modern",
    entry_points=("sliding_window_mask",),
    title="The last few tokens, and the very first",
    source="Beltagy et al. 2020, section 3.1; Jiang et al. 2023, section 2; Xiao et al. 2024, section 3.2",
    hints=(
        "Write down the mask for four tokens and a window of 2 by hand. How many True has each row, and "
        "which of them is the query's own key?",
        "With more keys than queries, the first query stands at key_len - query_len. Comparing a column of "
        "query positions with a row of key positions gives one condition for all entries at once.",
        "Refuse what must be refused. A key is visible if it is not later than the query, and is later than "
        "the query's position minus window, or is one of the first num_sinks.",
    ),
    hint_for={
        "reaches_one_key_further": 1,
        "reaches_one_key_less": 1,
        "hides_the_own_key": 1,
        "counts_queries_from_the_first_key": 2,
        "puts_queries_in_columns": 2,
    },
)


@KATA.cases
def arguments(draw):
    """Short lengths mostly, windows narrower than the past and wider, with sinks and without."""
    query_len = draw(st.sampled_from([3, 2, 4, 5, 1, 6]))
    cached = draw(st.sampled_from([None, None, None, 2, 4, 1, 3, 6, 0, 150, 300]))
    key_len = query_len if cached is None else query_len + cached
    first = key_len - query_len + 1
    sinks = [0, 0, *range(1, min(first, 3) + 1), *((first + 1, key_len + 2) if draw(st.booleans()) else ())]
    return {
        "query_len": query_len,
        "window": draw(st.sampled_from([2, 3, 1, 4, key_len, key_len + 2, 140 if key_len > 100 else 2])),
        "key_len": None if cached is None else key_len,
        "num_sinks": draw(st.sampled_from(sinks)),
    }


@KATA.corner(points=0.5)
def long_caches(key_len):
    """A cache may hold hundreds of keys."""
    return key_len is not None and key_len > 100


@KATA.corner(points=0.5)
def sinks_ahead_of_a_query(query_len, key_len, num_sinks):
    """A sink that is later than its query is hidden."""
    return num_sinks > (query_len if key_len is None else key_len) - query_len + 1


@KATA.corner(points=0.5)
def an_empty_cache(query_len, key_len):
    """key_len may be given and equal query_len."""
    return key_len == query_len


@KATA.corner(points=0.5)
def one_query(query_len):
    """One query has a mask of two axes."""
    return query_len == 1


@KATA.example
def printed_mask():
    """The example of the statement."""
    return {"query_len": 2, "window": 2, "key_len": 6, "num_sinks": 1}


@KATA.example
def four_tokens_with_a_window_of_two():
    return {"query_len": 4, "window": 2, "key_len": None, "num_sinks": 0}


@KATA.example
def sinks_and_window_that_overlap():
    return {"query_len": 3, "window": 3, "key_len": 6, "num_sinks": 3}


@KATA.example
def a_sink_without_a_cache():
    return {"query_len": 4, "window": 1, "key_len": None, "num_sinks": 1}


@KATA.example
def more_sinks_than_keys():
    return {"query_len": 4, "window": 1, "key_len": None, "num_sinks": 9}


@KATA.example
def sinks_beyond_the_window():
    return {"query_len": 5, "window": 2, "key_len": None, "num_sinks": 3}


@KATA.example
def sinks_among_the_new_tokens():
    return {"query_len": 4, "window": 3, "key_len": 6, "num_sinks": 4}


@KATA.example
def one_token_after_many():
    return {"query_len": 1, "window": 3, "key_len": 9, "num_sinks": 2}


@KATA.example
def two_tokens_behind_an_empty_cache():
    return {"query_len": 2, "window": 1, "key_len": 2, "num_sinks": 0}


@KATA.example
def two_tokens_after_three_hundred():
    return {"query_len": 2, "window": 200, "key_len": 302, "num_sinks": 2}


def called(student, query_len, window, key_len, num_sinks):
    """The result; what is at its default is left out of the call, so that the defaults are judged too."""
    given = {} if key_len is None else {"key_len": key_len}
    return student.sliding_window_mask(
        query_len, window, **given, **({"num_sinks": num_sinks} if num_sinks else {})
    )


@KATA.observe
def observe(student, query_len, window, key_len, num_sinks):
    return {"result": called(student, query_len, window, key_len, num_sinks)}


def permissions(student, query_len, window, key_len=None, num_sinks=0):
    """The mask as booleans; zeros and ones are read as such, the dtype is judged apart."""
    mask = called(student, query_len, window, key_len, num_sinks)
    shape = (query_len, query_len if key_len is None else key_len)
    found = getattr(mask, "shape", None)
    expect.true(found == shape, f"The mask must have the shape {shape}, a row a query; it came with {found}.")
    expect.true(np.isin(mask, (0, 1)).all(), "The mask must hold nothing but True and False.")
    return mask.astype(bool)


def lengths(draw):
    """Lengths with a cache and without one."""
    query_len, cached = draw(st.integers(2, 5)), draw(st.integers(0, 5))
    key_len = query_len + cached
    return {
        "query_len": query_len,
        "window": draw(st.integers(1, key_len)),
        "key_len": key_len if cached else None,
        "num_sinks": draw(st.integers(0, min(cached + 1, 3))),
        "more": draw(st.integers(0, 3)),
    }


@KATA.law(points=0.5, cases=lengths)
def test_a_wide_window_is_causal(student, query_len, key_len, more):
    """A window of at least key_len gives the causal mask."""
    keys = key_len or query_len
    result = permissions(student, query_len, keys + more, key_len)
    causal = np.tri(query_len, keys, keys - query_len, dtype=bool)
    expect.equal(result, causal, f"the mask for {keys} keys and a window of {keys + more}")


@KATA.law(points=0.5, cases=lengths)
def test_a_row_has_as_many_keys_as_the_window(student, query_len, window, key_len):
    """Without sinks the query at position p sees min(window, p + 1) keys."""
    result = permissions(student, query_len, window, key_len)
    positions = np.arange(result.shape[1] - query_len, result.shape[1])
    what = f"the number of True in the rows of the positions {positions.tolist()}, for a window of {window},"
    expect.equal(result.sum(axis=1), np.minimum(window, positions + 1), what)


@KATA.law(points=1, cases=lengths)
def test_a_cache_changes_nothing(student, query_len, window, key_len, num_sinks):
    """New tokens see through a cache what they would see in the whole sequence."""
    whole = permissions(student, key_len or query_len, window, None, num_sinks)
    result = permissions(student, query_len, window, key_len, num_sinks)
    expect.equal(result, whole[-query_len:], "the mask of the new tokens")


@KATA.law(points=0.5, cases=lengths)
def test_more_hides_nothing(student, query_len, window, key_len, num_sinks):
    """A wider window, or one more sink, hides nothing that was visible."""
    before = permissions(student, query_len, window, key_len, num_sinks)
    for name, wider, sinks in (("a wider window", window + 1, num_sinks), ("a sink", window, num_sinks + 1)):
        after = permissions(student, query_len, wider, key_len, sinks)
        expect.equal(after & before, before, f"what was visible before {name} was added")


@KATA.law(points=0.5, cases=lengths)
def test_each_query_sees_itself(student, query_len, window, key_len, num_sinks):
    """Every query sees its own key, and none that is later."""
    result = permissions(student, query_len, window, key_len, num_sinks)
    for row, position in zip(result, range(result.shape[1] - query_len, result.shape[1]), strict=True):
        expect.true(row[position], f"The query at position {position} must attend to its own key.")
        hidden = ~row[position + 1 :]
        expect.true(hidden.all(), f"The query at position {position} may attend to no later key.")


def wrong_arguments(draw):
    """One of the three errors, in arguments that are right otherwise."""
    query_len = draw(st.integers(1, 5))
    wrong = draw(st.sampled_from(["key_len", "window", "num_sinks"]))
    return {
        "query_len": query_len,
        "window": draw(st.integers(-2, 0)) if wrong == "window" else draw(st.integers(1, 4)),
        "key_len": query_len + (-draw(st.integers(1, query_len)) if wrong == "key_len" else 2),
        "num_sinks": -draw(st.integers(1, 3)) if wrong == "num_sinks" else draw(st.integers(0, 2)),
    }


@KATA.law(points=0.5, cases=wrong_arguments)
def test_refuses_wrong_arguments(student, query_len, window, key_len, num_sinks):
    """A window below 1, a negative num_sinks and fewer keys than queries raise a ValueError."""
    why = f"{query_len} queries cannot be the last of {key_len} positions"
    if window < 1:
        why = "a window holds at least the query's own key"
    elif num_sinks < 0:
        why = "there cannot be fewer than 0 sinks"
    expect.refuses(student.sliding_window_mask, query_len, window, key_len, num_sinks, why=why)
