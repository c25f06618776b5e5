"""grouped_query_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8

KATA = Kata(
    "grouped_query_attention",
    track="modern",
    entry_points=("grouped_query_attention",),
    title="Several query heads share one head of keys and values",
    source="Ainslie et al. 2023, section 2.2; Shazeer 2019",
    axes={
        "q": "batch heads queries d_head",
        "k": "batch groups keys d_head",
        "v": "batch groups keys d_v",
    },
    hints=(
        "Write down, for H = 4 and G = 2, which head of keys each query head reads. Then for G = 1 and for "
        "G = 4: which two rules give the same answer there, and differ for G = 2?",
        "Head h of the queries reads head h // (H / G) of keys and values, so neighbours share. For H = 4 "
        "and G = 2:\n\n"
        "    query head     0  1  2  3\n"
        "    reads          0  0  1  1       each head repeated in a row\n"
        "    and not        0  1  0  1       the heads dealt in turn\n\n"
        "Repeat k and v so, or cut the axis of the query heads into [G, H / G] and give k and v an axis "
        "of length 1 there. The rest is causal attention; with a cache the queries are the last "
        "positions. Where does query 0 stand for Tq = 2 and Tk = 5?",
        "Refuse an H that G does not divide. Without a copy of the keys and values:\n\n"
        "    q          [B, H, Tq, d_head]   as [B, G, H / G, Tq, d_head]\n"
        "    k and v    [B, G, Tk, d]        as [B, G, 1, Tk, d]\n"
        "    scores     q times k, its last two axes exchanged, over the root of\n"
        "               d_head               [B, G, H / G, Tq, Tk]\n"
        "    hidden     -inf at key j for query i where j > Tk - Tq + i\n"
        "    weights    minus each row's maximum, exp, over the row's sum\n"
        "    result     weights times v      as [B, H, Tq, d_v]\n\n"
        "A reshape keeps the order of the heads, so G in front of H / G makes groups of neighbours. Take "
        "the root as a Python float (math.sqrt), so that float32 stays float32. The values may be wider "
        "than the keys: the last axis of the result is theirs.",
    ),
    roundings=ROUNDINGS,
    bank_size=40,
)


def attention_case(draw, groups=None, cached=None, longest=3, scales=(1.0,), same_width=True):
    """Queries, keys and values with every axis of a length of its own, widths excepted if need be."""
    groups = draw(st.sampled_from([2, 2, 1, 3])) if groups is None else groups
    members = draw(st.sampled_from([2, 2, 1, 3]))
    batch, queries, d_head, d_v = (draw(st.integers(1, n)) for n in (2, longest, 4, 4))
    keys = queries + (draw(st.integers(0, 2)) if cached is None else cached)
    d_v = d_head if same_width else d_v
    dtype, scale = draw(st.float_dtypes()), draw(st.sampled_from(scales))
    return {
        "q": draw(st.permuted(st.arrays((batch, groups * members, queries, d_head), dtype, scale))),
        "k": draw(st.permuted(st.arrays((batch, groups, keys, d_head), dtype, scale))),
        "v": draw(st.permuted(st.normal_arrays((batch, groups, keys, d_v), dtype))),
    }


@KATA.cases
def cases(draw):
    """Plain ones, ones with extreme scores, and ones with another width of the values."""
    kind = draw(st.sampled_from(["plain", "plain", "extreme", "width"]))
    scales = (30.0, 150.0) if kind == "extreme" else (1.0,)
    return attention_case(draw, scales=scales, same_width=kind != "width")


@KATA.corner(points=0.5)
def extreme_scores(q, k):
    """Scores far beyond what exp can hold give weights."""
    return float(np.abs(q).max() * np.abs(k).max()) * q.shape[-1] > 400


@KATA.corner(points=0.5)
def another_width_of_the_values(k, v):
    """Values may be wider or narrower than keys."""
    return k.shape[-1] != v.shape[-1]


@KATA.example
def four_heads_in_two_groups():
    q, k = np.ones((1, 4, 1, 2), np.float32), np.ones((1, 2, 1, 2), np.float32)
    return {"q": q, "k": k, "v": np.array([[[[1.0]], [[2.0]]]], dtype=np.float32)}


@KATA.example
def two_tokens_behind_a_cache():
    """Scores of equal size, so that a weight shows how many keys are seen."""
    v = np.arange(8.0).reshape(1, 2, 4, 1)
    return {"q": np.zeros((1, 4, 2, 3)), "k": np.ones((1, 2, 4, 3)), "v": v}


@KATA.example
def a_hidden_key_with_a_large_score():
    """The first query's own score is -20,000, and that of the hidden key 15,000."""
    q = np.zeros((1, 2, 2, 4), np.float32)
    q[:, :, 0, 0] = q[:, :, 1, 1] = 100
    k = np.array([[[[-400.0, 0, 0, 0], [300.0, 100, 0, 0]]]], np.float32)
    return {"q": q, "k": k, "v": np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)}


def attended(student, q, k, v):
    """The result, once it is an array of the due shape."""
    result = student.grouped_query_attention(q, k, v)
    due, shape = (*q.shape[:3], v.shape[-1]), getattr(result, "shape", None)
    expect.true(
        shape == due, f"The result must have the shape [B, H, Tq, d_v] = {due}; it came with {shape}."
    )
    return result


@KATA.law(points=1)
def test_sharing_is_the_same_as_copying(student, q, k, v):
    """Where every query head is given a copy of its group's keys and values, the result is the same."""
    members = q.shape[1] // k.shape[1]
    copied = attended(student, q, k.repeat(members, axis=1), v.repeat(members, axis=1))
    what = f"the result, against that for {q.shape[1]} copied heads of keys and values,"
    expect.close(attended(student, q, k, v), copied, what, terms=8, roundings=ROUNDINGS)


def several_groups(draw):
    case = attention_case(draw, groups=draw(st.integers(2, 3)))
    return {**case, "group": draw(st.integers(0, case["k"].shape[1] - 1))}


@KATA.law(points=1, cases=several_groups)
def test_a_group_is_made_of_neighbours(student, q, k, v, group):
    """Other values in one head change the results of its group of neighbouring query heads, and no others."""
    members = q.shape[1] // k.shape[1]
    other = v.copy()
    other[:, group] += 1
    before, after = attended(student, q, k, v), attended(student, q, k, other)
    moved = np.zeros_like(before)
    moved[:, group * members : (group + 1) * members] = 1
    expect.close(
        after, before + moved, f"the result after 1 was added to all values of head {group}",
        terms=8, roundings=ROUNDINGS,
    )  # fmt: skip


@KATA.law(points=0.5, cases=lambda draw: attention_case(draw, cached=2))
def test_a_step_with_a_cache(student, q, k, v):
    """The last token alone, with all keys, gets what it gets among the others."""
    whole, alone = attended(student, q, k, v)[:, :, -1:], attended(student, q[:, :, -1:], k, v)
    expect.close(alone, whole, "the result of the last query alone", terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_later_keys_are_hidden(student, q, k, v):
    """What the last key and value hold reaches the last query alone."""
    last = np.ones_like(v)
    last[:, :, -1] = 100
    before, after = attended(student, q, k, v), attended(student, q, k * last[..., :1], v * last)
    expect.close(
        after[:, :, :-1],
        before[:, :, :-1],
        "the result of all queries but the last",
        terms=8,
        roundings=ROUNDINGS,
    )


@KATA.law(points=0.5)
def test_weights_sum_to_one(student, q, k, v):
    """Where all values are 1, so is every result."""
    result = attended(student, q, k, np.ones_like(v))
    expect.close(result, np.ones_like(result), "the result for values of 1", terms=8, roundings=ROUNDINGS)


def uneven_heads(draw):
    heads, groups = draw(st.sampled_from([(3, 2), (1, 2), (4, 3), (2, 4)]))
    dtype = draw(st.float_dtypes())
    shapes = {"q": (1, heads, 2, 2), "k": (1, groups, 2, 2), "v": (1, groups, 2, 2)}
    return {name: draw(st.normal_arrays(shape, dtype)) for name, shape in shapes.items()}


@KATA.law(points=0.5, cases=uneven_heads)
def test_refuses_uneven_groups(student, q, k, v):
    """A number of key heads that does not divide that of the query heads is refused with a ValueError."""
    why = f"{k.shape[1]} heads of keys cannot be shared evenly by {q.shape[1]} query heads"
    expect.refuses(student.grouped_query_attention, q, k, v, why=why)
