"""sinusoidal_positions: its cases and its laws.

An angle of several hundred radians is known to several hundred roundings; `ROUNDINGS` leaves room for that in
the laws, and is far below what float32 loses.
"""

import math

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 100

KATA = Kata(
    "sinusoidal_positions",
    track="attention",
    entry_points=("sinusoidal_positions",),
    title="A clock with many hands",
    source="Vaswani et al. 2017, section 3.5",
    roundings=4,
    bank_size=40,
    hints=(
        "Write down the exponent of each column for d_model = 6, and then for d_model = 5. Which columns "
        "share one, and what is it divided by?",
        "A column of positions over a row of powers gives all angles at once, one for each pair. Slices with "
        "a step of 2 reach the even and the odd columns of a table; with an odd width, how many are odd?",
        "Take the even numbers below d_model over d_model for exponents, and positions as a column over "
        "10000.0 to these exponents for angles. Into an empty table write the sines of the angles to the "
        "columns from 0 in steps of 2, and the cosines of the first d_model // 2 angles to those from 1.",
    ),
    hint_for={
        "gives_every_column_its_own_angle": 1,
        "forgets_the_two_in_the_exponent": 1,
        "doubles_the_exponent": 1,
        "reaches_the_base_in_the_last_pair": 1,
        "rounds_an_odd_width_up": 2,
        "rounds_an_odd_width_down": 2,
        "fails_for_an_odd_width": 2,
        "drops_the_last_odd_column": 2,
        "puts_all_sines_first": 2,
    },
)


@KATA.cases
def cases(draw):
    """Short tables mostly, many lengths and some of hundreds of positions; widths of both kinds."""
    longest, widest = draw(st.sampled_from([(16, 20), (60, 30), (600, 9)]))
    place = draw(st.integers(0, longest * widest - 1))  # two draws are often equal, and a table knows those
    return {"seq_len": 1 + place // widest, "d_model": 1 + place % widest}


@KATA.corner(points=0.5)
def odd_widths(d_model):
    """A table of odd width ends on a sine."""
    return d_model % 2 == 1


@KATA.corner(points=0.5)
def long_tables(seq_len):
    """Tables of hundreds of positions are right to the last row."""
    return seq_len >= 100


@KATA.example
def three_positions():
    """The example of the statement."""
    return {"seq_len": 3, "d_model": 4}


@KATA.example
def an_odd_width():
    return {"seq_len": 4, "d_model": 5}


@KATA.example
def three_hundred_positions():
    return {"seq_len": 300, "d_model": 6}


@KATA.example
def one_column():
    return {"seq_len": 3, "d_model": 1}


def table(student, seq_len, d_model):
    """The result, once it has its shape."""
    result = student.sinusoidal_positions(seq_len, d_model)
    found = getattr(result, "shape", None)
    sentence = f"The table must have the shape {(seq_len, d_model)}; it has {found or 'none'}."
    expect.true(found == (seq_len, d_model), sentence)
    return result


@KATA.law(points=0.5)
def test_hands_start_upright(student, seq_len, d_model):
    """Row 0 is 0, 1, 0, 1 and so on."""
    first = np.arange(d_model) % 2 * 1.0
    expect.close(table(student, seq_len, d_model)[0], first, "row 0")


@KATA.law(points=0.5)
def test_pairs_lie_on_a_circle(student, seq_len, d_model):
    """The squares of the two columns of a pair sum to one."""
    result = table(student, seq_len, d_model)
    squares = result[:, 0:-1:2] ** 2 + result[:, 1::2] ** 2
    expect.close(squares, np.ones(squares.shape), "the sum of the squares of each pair", roundings=8)


@KATA.law(points=0.5)
def test_first_hand_turns_by_one_radian(student, seq_len, d_model):
    """The first column is the sine of the position, whatever the width."""
    first = table(student, seq_len, d_model)[:, 0]
    expect.close(first, np.sin(np.arange(seq_len)), "the first column", roundings=ROUNDINGS)


@KATA.law(points=1)
def test_twice_the_width_has_a_hand_between(student, seq_len, d_model):
    """Pair i of a table is pair 2i of the table of twice the width."""
    narrow, wide = table(student, seq_len, d_model), table(student, seq_len, 2 * d_model)
    column = np.arange(d_model)
    same = 2 * (column - column % 2) + column % 2
    what = f"the table of width {d_model}, beside columns {same.tolist()} of that of width {2 * d_model},"
    expect.close(narrow, wide[:, same], what, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_rows_depend_on_their_position(student, seq_len, d_model):
    """A longer table begins with the rows of a shorter one."""
    short, long = table(student, seq_len, d_model), table(student, seq_len + 3, d_model)
    what = f"the table of {seq_len} rows, beside the first of {seq_len + 3},"
    expect.close(short, long[:seq_len], what, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_one_step_is_a_rotation(student, seq_len, d_model):
    """Each row is the one before it with every pair turned by the angle of row 1."""
    result = table(student, seq_len + 1, d_model)
    sines, cosines = result[:, 0:-1:2], result[:, 1::2]
    turned = sines[:-1] * cosines[1] + cosines[:-1] * sines[1]
    expect.close(
        sines[1:], turned, "the sines of a row, beside the row before turned on,", roundings=ROUNDINGS
    )


@KATA.law(points=0.5)
def test_angles_have_the_digits_of_float64(student, seq_len, d_model):
    """Every angle has the digits of float64."""
    row, due = seq_len - 1, np.empty(d_model)
    for column in range(d_model):
        angle = row / 10000 ** ((column - column % 2) / d_model)
        due[column] = math.cos(angle) if column % 2 else math.sin(angle)
    what = f"row {row} of the table"
    last = table(student, seq_len, d_model)[row]
    expect.close(last, due, what, roundings=ROUNDINGS, dtype="float64")


@KATA.law(points=0.5)
def test_worked_example(student):
    """The worked example comes out."""
    four = [[0, 1, 0, 1], [0.8415, 0.5403, 0.01, 0.99995], [0.9093, -0.4161, 0.02, 0.9998]]
    expect.decimals(table(student, 3, 4), np.array(four), 4, "the table of width 4")
