"""row_softmax: its cases and its laws.

Scores of a row are multiples of 1/4 beside a multiple of 500, so that their differences are exact.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.kernels import Device, kernel

ROUNDINGS = 3

KATA = Kata(
    "row_softmax",
    track="kernels",
    entry_points=("row_softmax",),
    title="One program a row",
    source="Triton's tutorial Fused Softmax; Goodfellow, Bengio and Courville 2016, section 4.1",
    libraries=("numpy",),
    axes={"x": "rows columns", "out": "rows columns"},
    roundings=ROUNDINGS,
    bank_size=40,
    hints=(
        "Take the second row of the example and write down which entries of memory program 1 loads, and what "
        "its four lanes hold. What is their maximum, and what is the sum of their powers?",
        "A program needs three things: where its row begins in x, where it begins in `out`, and which lanes "
        "exist. A row begins at a multiple of its array's stride. A lane that does not exist must change "
        "neither the maximum nor the sum: which score has the power 0?",
        "In the kernel:\n\n"
        "    at      the numbers from 0 to BLOCK - 1, by tl.arange      [BLOCK]\n"
        "    inside  where at < columns                                 [BLOCK]\n"
        "    scores  tl.load at x_ptr + row * x_stride + at, with the\n"
        "            mask, and other=-inf                               [BLOCK]\n"
        "    powers  tl.exp of the scores less tl.max(scores, axis=0) [BLOCK]\n"
        "    tl.store at out_ptr + row * out_stride + at, the powers\n"
        "             over tl.sum(powers, axis=0), mask=inside\n\n"
        "The launcher: as many programs as rows, and BLOCK=triton.next_power_of_2(columns).",
    ),
    hint_for={
        "reads_the_rows_by_the_number_of_columns": 2,
        "writes_the_rows_by_the_number_of_columns": 2,
        "writes_the_rows_by_the_stride_of_x": 2,
        "fills_masked_lanes_with_zero": 2,
        "leaves_masked_lanes_undefined": 2,
        "rounds_the_block_down": 3,
        "takes_the_columns_for_the_block": 3,
    },
)


@KATA.cases
def cases(draw):
    """One to five rows, each alone or apart from the next; scores near 0 or far from it, or -inf."""
    rows, columns = draw(st.integers(1, 5)), draw(st.sampled_from([3, 5, 4, 7, 1, 8, 33, 17, 2, 70]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x = rng.integers(-12, 13, (rows, columns)) / 4
    far = draw(st.sampled_from([0, 0, 0, 1, 200, 1e28]))
    x += far * 500 * rng.choice([-1, -1, 1], (rows, 1))
    if draw(st.sampled_from([False, False, True])):
        hidden = rng.random((rows, columns)) < 0.4
        hidden[np.arange(rows), rng.integers(0, columns, rows)] = False
        x[hidden] = -np.inf
    gaps = [draw(st.sampled_from([0, 2, 1, 5])) for _ in range(2)]
    return {"x": x.astype(np.float32), "x_gap": gaps[0], "out_gap": gaps[1]}


@KATA.example
def printed():
    """The example of the statement."""
    x = np.log(np.array([[1, 1, 2], [3, 1, 1]], np.float32))
    return {"x": x, "x_gap": 2, "out_gap": 0}


@KATA.example
def rows_apart_in_the_result():
    """The scores follow each other, the rows of the result do not."""
    return {"x": np.array([[0, 1, 2], [4, 2, 0]], np.float32), "x_gap": 0, "out_gap": 3}


@KATA.example
def a_row_far_below_any_large_number():
    """Two of three scores are the largest."""
    return {"x": np.array([[-1e30, -2e30, -1e30]], np.float32), "x_gap": 0, "out_gap": 0}


@KATA.corner(points=0.5)
def a_row_of_more_than_a_thousand_scores(x):
    """A row of more than a thousand scores is right."""
    return x.shape[1] > 1000


@KATA.example
def a_long_row():
    return {"x": (np.arange(1100, dtype=np.float32) % 9 / 4)[None], "x_gap": 0, "out_gap": 0}


@KATA.corner(points=1)
def scores_far_from_zero(x):
    """Scores far from zero, above it and below, are right."""
    return bool(np.abs(x[np.isfinite(x)]).max() > 100)


@KATA.corner(points=0.5)
def scores_of_minus_infinity(x):
    """Scores of -inf get probability 0."""
    return bool(np.isneginf(x).any())


@kernel(KATA, loads=lambda x: x.nbytes, stores=lambda x: x.nbytes)
def launch(device, student, x, x_gap, out_gap):
    """x and out are the first columns of wider matrices."""
    columns = x.shape[1]
    out = device.empty(x.shape, "float32", "out", strides=(columns + out_gap, 1))
    device.run(student.row_softmax, device.array(x, "x", strides=(columns + x_gap, 1)), out)
    return {"out": out}


def probabilities(student, x, x_gap, out_gap):
    """What is in `out` afterwards."""
    return launch(Device(), student, x, x_gap, out_gap)["out"].numpy()


@KATA.law(points=0.5)
def test_rows_sum_to_one(student, x, x_gap, out_gap):
    """Every row of the result sums to one."""
    sums = probabilities(student, x, x_gap, out_gap).sum(axis=1)
    expect.close(sums, np.ones(len(x), np.float32), "the sums of the rows", terms=x.shape[1], roundings=4)


@KATA.law(points=0.5)
def test_a_row_is_shifted(student, x, x_gap, out_gap):
    """A number that is added to all scores of a row changes nothing."""
    shift = (np.arange(len(x), dtype=np.float32) * 64 - 96)[:, None]
    before, after = (probabilities(student, scores, x_gap, out_gap) for scores in (x, x + shift))
    expect.close(after, before, f"the result for x plus {shift.ravel().tolist()}", terms=8, roundings=4)


@KATA.law(points=0.5)
def test_nothing_is_stored_between_the_rows(student, x, x_gap, out_gap):
    """What lies between the rows of `out` belongs to others, and nothing is stored there."""
    device = Device()
    out = launch(device, student, x, x_gap, out_gap)["out"]
    device.require_stores_in_rows(out)
