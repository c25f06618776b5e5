"""fused_layer_norm: its cases and its laws.

Rows far from 0 are whole numbers whose mean is whole too, so float32 has the mean exactly. A case has
x as float32, so that answers are compared as finely, and float16 has all of its numbers where it asks for it.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.kernels import Device, kernel

ROUNDINGS = 6

KATA = Kata(
    "fused_layer_norm",
    track="kernels",
    entry_points=("fused_layer_norm",),
    title="Layer norm in one kernel",
    source="Ba, Kiros and Hinton 2016, section 3; Triton's tutorial Layer Normalization",
    libraries=("numpy",),
    axes={"x": "rows columns", "gamma": "columns", "beta": "columns", "out": "rows columns"},
    roundings=ROUNDINGS,
    bank_size=24,
    hints=(
        "Take row 1 of the example, [5, 5, 8] in four lanes. What do the four lanes hold after the load, "
        "after the mean was subtracted, and after the square? Which of them may count in each of the two "
        "sums, and by what are these divided?",
        "The kernel has one load of x, one of gamma, one of beta, and one store. Between them are two sums "
        "of the block that is in the program already. `other=0.0` keeps a masked lane out of the first sum. "
        "After the mean was subtracted the lane holds -mean, so it has to be made 0 again, by tl.where, "
        "before the squares are added up. float16 has too few digits for sums: convert x after the load. "
        "Each array with rows has a stride of its own; gamma and beta have no rows.",
        "In the kernel:\n\n"
        "    at        tl.arange(0, BLOCK), inside where it is < columns   [BLOCK]\n"
        "    x         tl.load at x_ptr + row * x_stride + at, mask=inside,\n"
        "              other=0.0, then .to(tl.float32)                     [BLOCK]\n"
        "    mean      tl.sum(x, axis=0) / columns\n"
        "    centred   tl.where(inside, x - mean, 0.0)                     [BLOCK]\n"
        "    variance  tl.sum of centred * centred / columns\n"
        "    gamma     tl.load at gamma_ptr + at, mask=inside; beta alike  [BLOCK]\n"
        "    tl.store at out_ptr + row * out_stride + at: gamma * centred over\n"
        "              tl.sqrt(variance + eps), plus beta, mask=inside\n\n"
        "The launcher: as many programs as rows, x.stride(0) and out.stride(0), and "
        "BLOCK=triton.next_power_of_2(columns).",
    ),
    hint_for={
        "counts_masked_lanes_in_the_variance": 1,
        "divides_by_the_block": 1,
        "divides_the_variance_by_the_block": 1,
        "leaves_masked_lanes_undefined": 2,
        "loads_the_row_for_each_step": 2,
        "computes_in_float16": 2,
        "loads_a_row_of_gamma": 2,
        "writes_the_rows_by_the_stride_of_x": 2,
        "subtracts_the_square_of_the_mean": 3,
        "takes_the_columns_for_the_block": 3,
        "rounds_the_block_down": 3,
    },
)


def near_rows(rng, rows, columns):
    """Multiples of 1/8 around small levels, each row with a spread of its own."""
    spread = rng.choice([0.125, 0.5, 1.0], (rows, 1))
    return (rng.integers(-16, 17, (rows, columns)) + rng.integers(-24, 25, (rows, 1))) * spread


def far_rows(rng, rows, columns, level):
    """Whole numbers near plus or minus a level, whose mean is whole too."""
    x = rng.integers(-4, 5, (rows, columns))
    x[:, -1] -= x.sum(axis=1) % columns
    x[:, 0] += columns * (x.std(axis=1) < 1)
    return x + level * rng.choice([1, -1], (rows, 1))


def features(rng, columns):
    """gamma and beta: odd multiples of 1/8."""
    return ((rng.integers(-8, 8, columns) / 4 + 0.125).astype(np.float32) for _ in range(2))


@KATA.cases
def cases(draw):
    """One to four rows, each alone or apart from the next: near 0, or far from it; float32 or float16."""
    rows, columns = draw(st.integers(1, 4)), draw(st.sampled_from([3, 5, 4, 7, 6, 1, 17, 9, 2, 70]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x_dtype = draw(st.sampled_from(["float32", "float32", "float16"]))
    kind = draw(st.sampled_from(["near", "near", "near", "small", "far"]))
    if kind == "far":
        x = far_rows(rng, rows, columns, 10_000 if x_dtype == "float32" else 1_000)
    else:
        x = near_rows(rng, rows, columns) / (1024 if kind == "small" else 1)
    gamma, beta = features(rng, columns)
    gaps = [draw(st.sampled_from([0, 2, 1, 5])) for _ in range(2)]
    return {
        "x": x.astype(np.float32),
        "gamma": gamma,
        "beta": beta,
        "eps": 1e-5 if kind == "far" else draw(st.sampled_from([1e-5, 1e-5, 1e-3, 0.5])),
        "x_dtype": x_dtype,
        "x_gap": gaps[0],
        "out_gap": gaps[1],
    }


def pinned(*rows, gamma=None, beta=None, eps=1e-5, x_dtype="float32", x_gap=0, out_gap=0):
    """A case from lists; without gamma and beta, nothing is scaled and nothing shifted."""
    x = np.array(rows, np.float32)
    gamma = np.ones(x.shape[1], np.float32) if gamma is None else np.array(gamma, np.float32)
    beta = np.zeros(x.shape[1], np.float32) if beta is None else np.array(beta, np.float32)
    arrays = {"x": x, "gamma": gamma, "beta": beta}
    return {**arrays, "eps": eps, "x_dtype": x_dtype, "x_gap": x_gap, "out_gap": out_gap}


@KATA.example
def printed():
    """The example of the statement."""
    return pinned([0, 3, 3], [5, 5, 8], gamma=[1.5, 3, 1.5], beta=[0, 0, 1], eps=0.25, x_gap=2)


@KATA.example
def rows_apart_in_the_result():
    """The rows of x follow each other, those of the result do not."""
    return pinned([0, 1, 2], [4, 2, 0], [1, 1, 4], gamma=[1, 2, -1], beta=[0.5, 0, 3], out_gap=3)


@KATA.example
def rows_of_equal_numbers():
    """Nothing is left but beta."""
    return pinned([2, 2, 2], [0, 0, 0], gamma=[1, 2, -1], beta=[0.5, 0, 3])


@KATA.example
def a_single_column():
    """A number is its own mean, so beta alone is left."""
    return pinned([3], [-2], gamma=[2], beta=[0.5])


@KATA.example
def a_row_far_from_zero():
    """Only the distances from the mean are small."""
    return pinned([10_001, 9_999, 10_003, 9_997, 10_000], gamma=[1, 2, -1, 1, 0.5])


@KATA.example
def float16_whose_sum_it_has_not():
    """70 numbers near 1000 are more than 65504 together."""
    return pinned([1000 + column % 7 for column in range(70)], x_dtype="float16")


@KATA.example
def a_long_row():
    return pinned(np.arange(1100) % 9 / 4)


@KATA.corner(points=0.5)
def a_row_of_more_than_a_thousand_numbers(x):
    """A row of more than a thousand numbers is right."""
    return x.shape[1] > 1000


@KATA.corner(points=0.5)
def rows_far_from_zero(x):
    """Rows around 1,000 and 10,000 are normalised as those around 0."""
    return bool((np.abs(x.mean(axis=1)) > 500).any())


@KATA.corner(points=0.5)
def numbers_in_float16(x_dtype):
    """x in float16 is normalised in float32."""
    return x_dtype == "float16"


@KATA.corner(points=0.5)
def eps_that_shows(x, eps):
    """Eps is the number given, added under the root: another eps, or rows with a small spread."""
    return eps != 1e-5 or bool((x.std(axis=1) < 0.1).any())


def loads(x, x_dtype):
    """The bytes of x, and those of gamma and beta for each row."""
    return x.size * (np.dtype(x_dtype).itemsize + 2 * 4)


@kernel(KATA, loads=loads, stores=lambda x: 4 * x.size)
def launch(device, student, x, gamma, beta, eps, x_dtype, x_gap, out_gap):
    """x and out are the first columns of wider matrices."""
    columns = x.shape[1]
    out = device.empty(x.shape, "float32", "out", strides=(columns + out_gap, 1))
    rows = device.array(x.astype(x_dtype), "x", strides=(columns + x_gap, 1))
    scale = device.array(gamma.astype(np.float32), "gamma")
    offset = device.array(beta.astype(np.float32), "beta")
    device.run(student.fused_layer_norm, rows, scale, offset, out, eps)
    return {"out": out}


def normed(student, x, gamma, beta, eps, x_dtype="float32"):
    """What is in `out` afterwards, all arrays contiguous."""
    return launch(Device(), student, x, gamma, beta, eps, x_dtype, 0, 0)["out"].numpy()


def rows_near_zero(draw):
    """Whole numbers near 0, and the level that they are moved to."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    columns = draw(st.sampled_from([3, 5, 4, 7, 2]))
    gamma, beta = features(rng, columns)
    x = far_rows(rng, draw(st.integers(1, 2)), columns, 0).astype(np.float32)
    x_dtype = draw(st.sampled_from(["float32", "float16"]))
    level = np.float32(draw(st.sampled_from([1000, -1500])))
    return {"x": x, "gamma": gamma, "beta": beta, "x_dtype": x_dtype, "level": level}


@KATA.law(points=0.5, cases=rows_near_zero)
def test_the_level_of_a_row_does_not_matter(student, x, gamma, beta, x_dtype, level):
    """A number that is added to all of a row changes nothing."""
    before, after = (normed(student, rows, gamma, beta, 1e-5, x_dtype) for rows in (x, x + level))
    what = f"the result after {level:g} was added to every number of x"
    expect.close(after, before, what, terms=x.shape[1], roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_gamma_scales_and_beta_shifts(student, x, gamma, beta, eps, x_dtype):
    """Gamma multiplies what has been normalised, then beta is added."""
    plain = normed(student, x, np.ones_like(gamma), np.zeros_like(beta), eps, x_dtype)
    scaled = normed(student, x, gamma, beta, eps, x_dtype)
    what = "the result, against gamma times the plain norm (gamma of ones, beta of zeros), plus beta,"
    expect.close(scaled, plain * gamma + beta, what, terms=4, roundings=4)


@KATA.law(points=0.5, purpose=True)
def test_a_row_three_times_over(student, x, gamma, beta, eps):
    """A row three times over, side by side, has its result three times: no masked lane counts."""
    once = normed(student, x, gamma, beta, eps)
    thrice = normed(student, np.tile(x, 3), np.tile(gamma, 3), np.tile(beta, 3), eps)
    what = "the result for each row three times over, side by side,"
    expect.close(thrice, np.tile(once, 3), what, terms=3 * x.shape[1], roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_nothing_is_stored_between_the_rows(student, x, gamma, beta, eps, x_dtype, x_gap, out_gap):
    """What lies between the rows of `out` belongs to others, and nothing is stored there."""
    device = Device()
    out = launch(device, student, x, gamma, beta, eps, x_dtype, x_gap, out_gap)["out"]
    device.require_stores_in_rows(out)
