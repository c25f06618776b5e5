"""rotary_embedding: its cases and its laws.

Angles may be float32 where x is: at position 250 that is an error of some hundred-thousandths, for which
`ROUNDINGS` leaves room.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

DEFAULT = 10000.0
ROUNDINGS = 8

KATA = Kata(
    "rotary_embedding",
    track="modern",
    entry_points=("rotary_embedding",),
    title="Positions as turns, so that attention sees distances",
    source="Su et al. 2021, section 3.2",
    axes={"x": "batch heads tokens d_head", "positions": "tokens"},
    hints=(
        "Turn one pair by hand: (1, 0) at position 1, by one radian. Then ask of each number in your code "
        "which pair it belongs to, and at which position its token stands.",
        "Columns 0, 2, 4, … are the first coordinates, columns 1, 3, 5, … the second; a slice with a step "
        "of two takes each. For d_head 4 and the token at position 3:\n\n"
        "    column     0     1     2       3\n"
        "    pair       0     0     1       1\n"
        "    angle      3     3     0.03    0.03     3 times the pair's frequency\n\n"
        "So there is one angle for each token and pair, [T, d_head / 2], which broadcasts over the axes "
        "in front. Both new coordinates need both old ones, so keep the old ones until both are made.",
        "Refuse an odd d_head. Frequencies: base to the power of minus (0, 2, 4, … below d_head) over "
        "d_head. Angles: positions as a column times the frequencies as a row, [T, d_head / 2]; their "
        "cosines and sines in x's dtype. Take the first coordinates a and the second b, each [..., T, "
        "d_head / 2], and make both new ones by the formulas. Then put them back in turn:\n\n"
        "    new a             a0 a1\n"
        "    new b             b0 b1\n"
        "    stacked on a      a0 b0\n"
        "    new last axis     a1 b1\n"
        "    reshaped          a0 b0 a1 b1      neighbours, as the kata asks\n"
        "    joined instead    a0 a1 b0 b1      halves: another embedding\n\n"
        "Or write each into its own columns of a new array of x's shape and dtype.",
    ),
    hint_for={
        "pairs_the_halves": 2,
        "reads_what_it_has_overwritten": 2,
        "leaves_the_coordinates_in_halves": 3,
    },
    roundings=ROUNDINGS,
    bank_size=40,
)


def vectors(draw, tokens, dtype, lead=None):
    """Queries or keys for so many tokens, with axes in front or none."""
    lead = draw(st.sampled_from([(5, 2), (6, 1), (5, 3)])) if lead is None else lead
    d_head = draw(st.sampled_from([4, 2, 6]))
    return draw(st.permuted(st.arrays((*lead, tokens, d_head), dtype)))


def places(draw, tokens, in_a_row=True):
    """Positions: from 0 on or from somewhere else on; else with gaps, or in no order."""
    start = draw(st.sampled_from([0, 0, 1, 7, 40, 190]))
    if in_a_row:
        return np.arange(start, start + tokens).astype(draw(st.integer_dtypes()))
    steps = draw(st.lists(st.integers(1, 20), min_size=tokens, max_size=tokens))
    found = [start + s for s in np.cumsum(steps) // 2]
    found = found[::-1] if draw(st.booleans()) else found
    return np.array(found).astype(draw(st.integer_dtypes()))


@KATA.cases
def cases(draw):
    """Batches of heads at positions in a row; other axes, other positions, another base."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "axes", "places", "base"]))
    tokens = draw(st.integers(1, 4))
    others = [(), (2,), (tokens, 3), (tokens, 2), (3, 1, 2)]
    return {
        "x": vectors(
            draw, tokens, draw(st.float_dtypes()), draw(st.sampled_from(others)) if kind == "axes" else None
        ),
        "positions": places(draw, tokens, in_a_row=kind != "places"),
        "base": draw(st.sampled_from([99.0, 500000.0])) if kind == "base" else DEFAULT,
    }


@KATA.corner(points=0.5)
def another_base(base):
    """Another base than the default sets the frequencies."""
    return base != DEFAULT


@KATA.corner(points=0.5)
def any_positions(positions):
    """Positions may have gaps, and stand in any order."""
    return bool((np.diff(positions.astype("int64")) != 1).any())


@KATA.corner(points=0.5)
def any_leading_axes(x):
    """Any axes in front of the tokens, or none, give the same turns."""
    return x.ndim != 4 or x.shape[0] == x.shape[-2]


@KATA.example
def printed_turns():
    x = np.array([[1.0, 0.0, 1.0, 0.0]] * 3)
    return {"x": x, "positions": np.arange(3), "base": DEFAULT}


@KATA.example
def one_token_behind_a_cache():
    x = np.array([[[1.0, 2.0, 3.0, 4.0]], [[0.5, 0.0, -1.0, 2.0]]], dtype=np.float32)
    return {"x": x, "positions": np.array([5]), "base": DEFAULT}


@KATA.example
def another_base_in_a_row():
    """Positions in a row, with a base of 100."""
    x = np.arange(8.0).reshape(1, 1, 2, 4) / 4
    return {"x": x, "positions": np.array([2, 3]), "base": 100.0}


@KATA.example
def as_many_heads_as_tokens():
    x = np.arange(24.0, dtype=np.float32).reshape(3, 2, 4)[:, [0, 1, 0]] / 8
    return {"x": x, "positions": np.array([3, 0, 9]), "base": DEFAULT}


@KATA.example
def the_last_positions():
    x = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, -1.0, 2.0]], dtype=np.float32)
    return {"x": x, "positions": np.array([249, 250], dtype=np.uint8), "base": DEFAULT}


@KATA.example
def a_base_of_two():
    x = np.arange(8.0).reshape(1, 1, 2, 4) / 4
    return {"x": x, "positions": np.array([2, 3]), "base": 2.0}


@KATA.observe
def observe(student, x, positions, base):
    """The default of base is asked for by leaving it out, so that it is judged too."""
    given = {} if base == DEFAULT else {"base": base}
    return {"result": student.rotary_embedding(x, positions, **given)}


def turned(student, x, positions, base):
    """The result, once it is an array like x."""
    result = student.rotary_embedding(x, positions, base=base)
    shape = getattr(result, "shape", None)
    expect.true(shape == x.shape, f"The result must have the shape of x, {x.shape}; it came with {shape}.")
    return result


def pairs_of_vectors(draw):
    """A query and a key for each token, and how far both are moved."""
    tokens, dtype = draw(st.integers(1, 3)), draw(st.float_dtypes())
    q = vectors(draw, tokens, dtype, lead=(5, 1))
    return {
        "q": q,
        "k": draw(st.arrays(q.shape, dtype)),
        "positions": places(draw, tokens).astype("int64"),
        "distance": draw(st.sampled_from([1, 0, 3])),
        "shift": draw(st.sampled_from([1, 10])),
        "base": draw(st.sampled_from([DEFAULT, 100.0])),
    }


@KATA.law(points=1, cases=pairs_of_vectors)
def test_scores_depend_on_the_distance(student, q, k, positions, distance, shift, base):
    """The dot product of a query and a key depends on how far apart they stand, and not on where."""
    here, there = (
        (turned(student, q, at, base) * turned(student, k, at + distance, base)).sum(axis=-1)
        for at in (positions, positions + shift)
    )
    largest = (
        float((abs(q) * abs(k)).sum()) + 1.0
    )  # the products may cancel; their sum says how large they were
    what = f"each score (plus {largest:g}), after query and key were moved by {shift},"
    expect.close(there + largest, here + largest, what, terms=q.shape[-1], roundings=ROUNDINGS)


@KATA.law(points=1)
def test_each_pair_keeps_its_length(student, x, positions, base):
    """Each pair of neighbouring columns keeps its length."""
    result = turned(student, x, positions, base)
    before, after = (a[..., 0::2] ** 2 + a[..., 1::2] ** 2 for a in (x, result))
    expect.close(after, before, "the squared length of each pair", terms=2, roundings=ROUNDINGS)


@KATA.law(points=1)
def test_turns_add_up(student, x, positions, base):
    """Turned for one position and then for another, a vector is turned for their sum."""
    at = positions.astype("int64") // 2
    twice = turned(student, turned(student, x, at, base), at + 1, base)
    expect.close(
        twice, turned(student, x, 2 * at + 1, base), "the vectors turned twice", roundings=3 * ROUNDINGS
    )


@KATA.law(points=0.5)
def test_printed_turns(student):
    """The vectors of the example are turned as printed."""
    expected = [[1.0, 0.0, 1.0, 0.0], [0.5403, 0.8415, 1.0, 0.01], [-0.4161, 0.9093, 0.9998, 0.02]]
    case = printed_turns()
    result = turned(student, case["x"][None, None], case["positions"], case["base"])[0, 0]
    expect.decimals(result, np.array(expected), 4, "the printed result")


def odd_widths(draw):
    shape = (draw(st.integers(1, 3)), draw(st.sampled_from([3, 1, 5])))
    return {"x": draw(st.arrays(shape, draw(st.float_dtypes()))), "positions": np.arange(shape[0])}


@KATA.law(points=0.5, cases=odd_widths)
def test_refuses_an_odd_width(student, x, positions):
    """An odd d_head is refused with a ValueError."""
    why = f"d_head={x.shape[-1]} numbers do not form pairs"
    expect.refuses(student.rotary_embedding, x, positions, why=why)
