"""alibi_bias: its cases and its laws.

Entries of keys later than their query are not graded: `observe` and the laws look at keys up to the query.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4

KATA = Kata(
    "alibi_bias",
    track="modern",
    entry_points=("alibi_slopes", "alibi_bias"),
    title="The farther, the less: positions as a bias",
    source="Press, Smith and Lewis 2022, section 3, and the code published with it",
    roundings=ROUNDINGS,
    bank_size=40,
    hints=(
        "Write down the slopes of 2, 4 and 8 heads as powers of two, then the list for 6 heads. Which of "
        "these numbers stand in it, and in which order?",
        "For any H: the slopes of P heads, where P is the largest power of two up to H; then every second "
        "slope of 2P heads, cut to H. As exponents of 2:\n\n"
        "    4 heads     -2  -4  -6  -8\n"
        "    8 heads     -1  -2  -3  -4  -5  -6  -7  -8\n"
        "    6 heads     -2  -4  -6  -8  -1  -3        4 of the first, then the\n"
        "                                              1st and 3rd of the second\n\n"
        "The distance is the query's position minus the key's; with a cache the first query stands at "
        "key_len - query_len. Which sign must the bias have, so that far keys count for less?",
        "Slopes: refuse fewer heads than 1. P is found by doubling 1 while it fits into H. Join 2^(-8 h / "
        "P) for h = 1, 2, … P with 2^(-8 h / 2P) for h = 1, 3, 5, … below 2P, and keep the first H. Bias: "
        "key_len is query_len where it is None (0 is not None); refuse fewer keys than queries. For 2 "
        "queries and 4 keys:\n\n"
        "    keys         0   1   2   3\n"
        "    query 2     -2  -1   0   1       key minus query, [query_len, key_len]\n"
        "    query 3     -3  -2  -1   0\n\n"
        "A row of key positions minus a column of query positions gives this table, and the slopes as [H, "
        "1, 1] times the table give [H, query_len, key_len]. Nothing is hidden here: that is the causal "
        "mask's part.",
    ),
)


@KATA.cases
def cases(draw):
    """Numbers of heads of both kinds; short lengths mostly, with a cache and without one."""
    query_len = draw(st.sampled_from([2, 3, 4, 5, 1]))
    cached = draw(st.sampled_from([None, None, 1, 2, 3, 4, 0, 150, 300]))
    num_heads = draw(st.sampled_from([4, 6, 2, 3, 8, 5, 12, 1, 7, 16, 20]))
    if cached is not None and cached > 100:
        num_heads = draw(st.integers(1, 3))
    key_len = None if cached is None else query_len + cached
    return {"num_heads": num_heads, "query_len": query_len, "key_len": key_len}


@KATA.corner(points=0.5)
def long_caches(key_len):
    """A cache may hold hundreds of keys."""
    return key_len is not None and key_len > 100


@KATA.corner(points=0.5)
def an_empty_cache(query_len, key_len):
    """key_len may be given and equal query_len."""
    return key_len == query_len


@KATA.corner(points=0.5)
def one_query(query_len):
    """One query has a bias of three axes."""
    return query_len == 1


@KATA.example
def printed_slopes():
    """The first example of the statement, with a cache."""
    return {"num_heads": 6, "query_len": 2, "key_len": 4}


@KATA.example
def printed_bias():
    """The second example of the statement."""
    return {"num_heads": 6, "query_len": 1, "key_len": 4}


@KATA.example
def four_heads_without_a_cache():
    return {"num_heads": 4, "query_len": 3, "key_len": None}


@KATA.example
def eight_heads_behind_a_cache():
    return {"num_heads": 8, "query_len": 2, "key_len": 3}


@KATA.example
def two_queries_without_a_cache():
    return {"num_heads": 2, "query_len": 2, "key_len": 2}


@KATA.example
def two_queries_after_three_hundred():
    return {"num_heads": 3, "query_len": 2, "key_len": 302}


def called(student, num_heads, query_len, key_len):
    """The bias; None is left out of the call, so that the default is judged too."""
    if key_len is None:
        return student.alibi_bias(num_heads, query_len)
    return student.alibi_bias(num_heads, query_len, key_len)


@KATA.graded_part("alibi_bias")
def without_later_keys(bias, *_):
    """The bias with zeros at keys later than their query."""
    query_len, key_len = bias.shape[-2:]
    return np.where(np.tri(query_len, key_len, key_len - query_len, dtype=bool), bias, bias.dtype.type(0))


@KATA.observe
def observe(student, num_heads, query_len, key_len):
    slopes, bias = student.alibi_slopes(num_heads), called(student, num_heads, query_len, key_len)
    due = (num_heads, query_len, query_len if key_len is None else key_len)
    graded = without_later_keys(bias) if getattr(bias, "shape", None) == due else bias
    return {"alibi_slopes": slopes, "alibi_bias": graded}


def visible_bias(student, num_heads, query_len, key_len):
    """The bias up to each query's own key, once it has its shape."""
    bias = called(student, num_heads, query_len, key_len)
    due = (num_heads, query_len, query_len if key_len is None else key_len)
    found = getattr(bias, "shape", None)
    expect.true(found == due, f"The bias must have the shape {due}; it has {found or 'none'}.")
    return without_later_keys(bias)


def slopes_of(student, num_heads):
    """The slopes, once they are as many as the heads."""
    slopes = student.alibi_slopes(num_heads)
    found = getattr(slopes, "shape", None)
    expect.true(
        found == (num_heads,),
        f"{num_heads} heads have as many slopes; it has {found or 'none'}.",
    )
    return slopes


@KATA.law(points=0.5)
def test_the_own_key_loses_nothing(student, num_heads, query_len, key_len):
    """The bias is 0 at the query's own key."""
    bias = visible_bias(student, num_heads, query_len, key_len)
    own = np.diagonal(bias, bias.shape[2] - query_len, axis1=1, axis2=2)
    expect.close(own, np.zeros(own.shape), "the bias of each query's own key, head by head,")


def several_queries(draw):
    query_len, cached = draw(st.integers(2, 5)), draw(st.integers(0, 4))
    key_len = query_len + cached if cached else None
    return {"num_heads": draw(st.sampled_from([1, 2, 4, 8])), "query_len": query_len, "key_len": key_len}


@KATA.law(points=0.5, cases=several_queries)
def test_distances_alone_count(student, num_heads, query_len, key_len):
    """One step along the diagonal changes nothing, and one step away from it costs the slope."""
    bias = visible_bias(student, num_heads, query_len, key_len)
    before, after = bias[:, :-1, :-1], bias[:, 1:, 1:]
    expect.close(after, before, "the bias one query and one key further", roundings=ROUNDINGS)
    last = bias[:, -1]
    slopes = 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)
    steps = np.repeat(slopes[:, None], last.shape[1] - 1, axis=1)
    what = "what each step towards the last query's own key adds, head by head,"
    expect.close(np.diff(last), steps, what, roundings=ROUNDINGS)


def with_a_cache(draw):
    return {"num_heads": draw(st.integers(1, 12)), "key_len": draw(st.integers(2, 7))}


@KATA.law(points=1, cases=with_a_cache)
def test_a_step_with_a_cache(student, num_heads, key_len):
    """One new token has the last row of the bias of the whole sequence."""
    whole = visible_bias(student, num_heads, key_len, None)
    alone = visible_bias(student, num_heads, 1, key_len)
    expect.close(alone, whole[:, -1:], f"alibi_bias({num_heads}, 1, {key_len})", roundings=ROUNDINGS)


def powers_of_two(draw):
    return {"num_heads": 2 ** draw(st.integers(0, 6))}


@KATA.law(points=0.5, cases=powers_of_two)
def test_powers_of_two_form_a_progression(student, num_heads):
    """For a power of two each slope is the one before it times the first, and the last is 1/256."""
    slopes = slopes_of(student, num_heads)
    expected = slopes[:-1] * slopes[0]
    what = f"each slope but the first of {num_heads} heads, against the one before it times the first,"
    expect.close(slopes[1:], expected, what, roundings=ROUNDINGS)
    expect.close(slopes[-1:], np.array([1 / 256]), f"the last of {num_heads} slopes", roundings=ROUNDINGS)


def other_numbers(draw):
    return {"num_heads": draw(st.sampled_from([6, 3, 5, 12, 20, 7, 24, 40, 71]))}


@KATA.law(points=0.5, cases=other_numbers)
def test_the_list_begins_with_a_power_of_two(student, num_heads):
    """The slopes of H heads begin with those of the largest power of two in H."""
    power = 2 ** (num_heads.bit_length() - 1)
    first, alone = slopes_of(student, num_heads)[:power], slopes_of(student, power)
    what = f"the first {power} slopes of {num_heads}, against those of {power} heads,"
    expect.close(first, alone, what, roundings=ROUNDINGS)


def too_few_keys(draw):
    query_len = draw(st.integers(1, 5))
    key_len = draw(st.integers(0, query_len - 1))
    return {"num_heads": draw(st.integers(1, 6)), "query_len": query_len, "key_len": key_len}


@KATA.law(points=0.5, cases=too_few_keys)
def test_refuses_too_few_keys(student, num_heads, query_len, key_len):
    """Fewer keys than queries raise a ValueError."""
    why = f"{query_len} queries cannot be the last of {key_len} positions"
    expect.refuses(student.alibi_bias, num_heads, query_len, key_len, why=why)


def no_heads(draw):
    return {"num_heads": draw(st.integers(-3, 0)), "query_len": draw(st.integers(1, 3))}


@KATA.law(points=0.5, cases=no_heads)
def test_refuses_no_heads(student, num_heads, query_len):
    """A number of heads below 1 raises a ValueError in both functions."""
    expect.refuses(student.alibi_slopes, num_heads, why="there is at least one head")
    expect.refuses(student.alibi_bias, num_heads, query_len, why="there is at least one head")
