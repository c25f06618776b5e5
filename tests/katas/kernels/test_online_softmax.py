"""online_softmax: its cases and its laws.

Rows have blocks of different heights, so that the largest entry stands in any of them.
"""

from collections import Counter

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.kernels import Device, kernel

KATA = Kata(
    "online_softmax",
    track="kernels",
    entry_points=("online_softmax",),
    title="A row longer than a block",
    source="Milakov and Gimelshein 2018, section 3 and algorithm 3",
    libraries=("numpy",),
    axes={"x": "rows columns"},
    roundings=4,
    bank_size=40,
    hints=(
        "Compute the softmax of [1, 2, 4, 3] by hand when you may look at [1, 2] first and at [4, 3] "
        "afterwards. Which two numbers do you keep from the first look, and what happens to them when you "
        "see the 4?",
        "Two loops over the blocks of the row, `for start in range(0, columns, BLOCK)`. The first keeps a "
        "maximum and a sum, and stores nothing:\n\n"
        "    [1, 2]   maximum 2   sum exp(-1) + exp(0)                      = 1.368\n"
        "    [4, 3]   maximum 4   sum exp(2 - 4) * 1.368 + exp(0) + exp(-1) = 1.553\n\n"
        "The second loads each block again and stores its results. What must masked lanes hold, so that they "
        "change neither maximum nor sum? And what is the maximum before the first block, so that its "
        "difference from another one is a number even where a block is -inf?",
        "In the kernel, with x_row = x_ptr + program_id(0) * x_stride, and out_row alike:\n\n"
        "    before        maximum -3e38, total 0.0\n"
        "    first loop    at       = start + arange(0, BLOCK)               [BLOCK]\n"
        "                  x        = load(x_row + at, at < columns, other -inf)\n"
        "                  larger   = the larger of maximum and tl.max(x, axis=0)\n"
        "                  total    = exp(maximum - larger) * total\n"
        "                             + the sum of exp(x - larger)\n"
        "                  maximum  = larger, after total\n"
        "    second loop   x        = the same load                          [BLOCK]\n"
        "                  store exp(x - maximum) / total at out_row + at, same mask\n\n"
        "The launcher: one program a row, softmax_kernel[(rows,)](x, out, columns, x.stride(0), "
        "out.stride(0), BLOCK=block).",
    ),
    hint_for={
        "forgets_to_correct_the_sum": 1,
        "knows_the_last_block_alone": 1,
        "normalises_each_block": 1,
        "subtracts_the_maximum_of_each_block": 1,
        "adds_sums_of_different_maxima": 1,
        "keeps_the_first_maximum": 1,
        "corrects_in_the_wrong_direction": 2,
        "corrects_the_new_powers_too": 2,
        "takes_powers_without_a_maximum": 2,
        "begins_the_maximum_with_zero": 2,
        "begins_the_maximum_with_minus_infinity": 2,
        "masks_with_zero": 2,
        "masks_with_zero_in_the_sum_alone": 2,
        "leaves_masked_lanes_undefined": 2,
        "takes_three_passes": 2,
        "holds_the_whole_row": 2,
        "fills_the_row_with_zeros": 2,
        "stores_the_last_block_everywhere": 2,
        "loads_the_next_row": 3,
        "stores_into_the_next_row": 3,
        "compares_the_lanes": 3,
        "takes_a_program_for_each_block": 3,
        "launches_one_program": 3,
        "works_on_the_first_row_alone": 3,
        "takes_the_columns_for_the_stride": 3,
        "takes_the_stride_of_x_for_out": 3,
        "takes_the_other_stride": 3,
    },
)

NONE = -np.inf  # the score of what is masked


@KATA.cases
def cases(draw):
    """One to three rows of one to five blocks; some rows lie apart, begin with -inf or have large entries."""
    block = draw(st.sampled_from([4, 2, 8]))
    rows = draw(st.integers(1, 3))
    columns = draw(st.integers(1, 4)) * block - draw(st.integers(0, block - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    kind = draw(st.sampled_from(["plain", "plain", "plain", "plain", "apart", "-inf", "large"]))
    heights = np.repeat(rng.permuted(np.tile(np.arange(-2, 4), (rows, 1)), axis=1), block, axis=1)
    x = (rng.integers(-8, 9, (rows, columns)) / 4 + heights[:, :columns]).astype(np.float32)
    if kind == "large":
        x = x * np.float32(4096) * rng.choice(np.float32([1, -1]), (rows, 1)) - np.float32(6e4)
    if kind == "-inf":
        x[:, : min(block, columns - 1)] = NONE
    return {"x": x, "gap": draw(st.integers(1, 3)) if kind == "apart" else 0, "block": block}


def apart(x, gap):
    """The same rows as a view of an array that has so many more columns."""
    wide = np.full((len(x), x.shape[1] + gap), 7, x.dtype)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]


def pinned(*rows, block, gap=0):
    """A case from lists."""
    return {"x": np.array(rows, dtype=np.float32), "gap": gap, "block": block}


@KATA.example
def printed():
    """The example of the statement."""
    return pinned([1, 2, 4, 3, 1], block=2)


@KATA.example
def the_largest_first():
    """The first block has the largest entry: nothing is to be corrected."""
    return pinned([4, 1, 0, 2], [3, 3, 3, 3], block=2)


@KATA.example
def a_block_longer_than_the_rows():
    """One block, with lanes that no row has."""
    return pinned([1, 0, 2], [-1, -3, -2], block=8)


@KATA.example
def a_row_that_begins_with_minus_infinity():
    """The first block is -inf, as that of a sequence with padding on the left."""
    return pinned([NONE, NONE, 1, 2], [0, NONE, NONE, NONE], block=2)


@KATA.example
def far_below_zero():
    """The powers of all scores are 0 without the maximum. The probabilities are not."""
    return pinned([-2000, -2001, -1999, -2000], block=2)


@KATA.example
def far_above_zero():
    """The powers of all scores are infinite without the maximum."""
    return pinned([500, 501, 502, 500], [30000, 20000, 30001, 30000], block=2)


@KATA.example
def rows_of_a_wider_array():
    """A view: a row begins three entries behind the end of the one before."""
    return pinned([1, 2, 3, 0, 1], [2, 0, 0, 1, 5], block=4, gap=3)


@KATA.corner(points=0.5)
def blocks_of_minus_infinity(x):
    """A block of -inf gets the probability 0, also the first of a row."""
    return bool(np.isneginf(x).any())


@KATA.corner(points=0.5)
def rows_that_lie_apart(x, gap):
    """The arrays are parts of wider ones: their rows do not lie side by side."""
    return len(x) > 1 and gap > 0


@KATA.corner(points=0.5)
def entries_far_from_zero(x):
    """Entries far below and far above zero are right."""
    return float(np.abs(x).max()) > 80


@kernel(KATA, loads=lambda x: 2 * 4 * x.size, stores=lambda x: 4 * x.size)
def launch(device, student, x, gap, block):
    rows = apart(x.astype(np.float32), gap)  # a kernel in float32 takes no float64
    out = device.empty(x.shape, "float32", "out", (x.shape[1] + 2 * gap, 1))
    device.run(student.online_softmax, device.array(rows, "x"), out, block)
    return {"out": out}


@KATA.law(points=1, purpose=True)
def test_a_program_holds_a_block_at_a_time(student, x, gap, block):
    """No load and no store takes more than a block of a row."""
    device = Device()
    launch(device, student, x, gap, block)
    strides = {"x": x.shape[1] + gap, "out": x.shape[1] + 2 * gap}
    for access in (access for launched in device.launches for access in launched.accesses):
        most = max(Counter(entry // strides[access.array] for entry in access.entries).values(), default=0)
        expect.true(
            most <= block,
            f"With block={block}, a {access.what} takes {most} entries of one row of {access.array}"
            f" (line {access.line}).",
        )


@KATA.law(points=0.5)
def test_rows_sum_to_one(student, x, gap, block):
    """The probabilities of each row sum to one."""
    out = launch(Device(), student, x, gap, block)["out"].numpy()
    sums = np.ones(len(x), np.float32)
    expect.close(out.sum(axis=1), sums, "the sum of each row", terms=x.shape[1], roundings=4)


def in_another_order(draw):
    """A case whose columns are moved."""
    case = cases(draw)
    return {**case, "order": draw(st.permutations(range(case["x"].shape[1])))}


@KATA.law(points=0.5, cases=in_another_order)
def test_the_order_of_entries_does_not_matter(student, x, gap, block, order):
    """A row whose entries stand in another order has the same probabilities in that order."""
    before, after = (launch(Device(), student, rows, gap, block)["out"].numpy() for rows in (x, x[:, order]))
    what = f"the probabilities after the columns {order} of x"
    expect.close(after, before[:, order], what, terms=x.shape[1], roundings=4)
