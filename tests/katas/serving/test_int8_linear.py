"""int8_linear: its cases and its laws.

Rows are drawn as whole steps and what is left of them, so that no number lies nearly half-way between two
steps: there, ways of computing that are all right would round differently.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "int8_linear",
    track="serving",
    entry_points=("quantize_rows", "int8_linear"),
    title="Eight bits are nearly enough",
    source="Dettmers et al. 2022, sections 2.1 and 3.1",
    axes={"x": "batch tokens d_in", "w_q": "d_out d_in", "w_scale": "d_out one"},
    bank_size=44,
    hints=(
        "Quantise the row [1.27, -0.5, 0.004] by hand. By which number do you divide, and what comes back "
        "when you multiply by it again?",
        "Each row has a scale of its own, which must keep its axis to meet its row: [..., n] over [..., "
        "1]. Then there are three surprises:\n\n"
        "    0 / 0                  a row of zeros: divide by 1 there\n"
        "    int8 127 * 127         is 1: an int8 wraps round\n"
        "    float32 * int32        may be float64: look at the dtype\n\n"
        "In which dtype must the products be added up, so that a sum of 1,024 of them is exact? And at "
        "which line does the result get the dtype of x?",
        "quantize_rows: the scale is the largest absolute value along the last axis, the axis kept, over "
        "127. q is x over the scale (over 1 where it is 0), rounded by rint, which takes halves to the "
        "even number, and then made int8: a cast alone would cut off. The layer:\n\n"
        "    x           quantised: x_q [..., d_in], x_scale [..., 1]\n"
        "    sums        x_q and w_q as int32, x_q times w_q transposed  [..., d_out]\n"
        "    w_scale     comes as a column [d_out, 1]; the outputs are the last\n"
        "                axis of sums, so it is needed as [d_out]\n"
        "    result      sums times x_scale times w_scale, cast to x.dtype\n\n"
        "With w_scale left as a column the shapes do not fit, or each row of the batch meets the scale of "
        "an output.",
    ),
)

WIDE = 200  # numbers; rows of so many or more are a corner
HALF = 0.45  # how far from a whole step a number lies at most, unless it is an exact half
#: Halves that are exact in whatever order 127 and a power of two are divided and multiplied.
HALVES = (0.5, 1.5, 2.5, 3.5, 30.5, 31.5, 62.5, 63.5, 64.5, 125.5, 126.5)


def draw_rows(draw, shape, dtype, kind="plain"):
    """Rows whose largest is 127 steps of some size; some have rests, some are exact halves."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    largest = draw(st.sampled_from([1.0, 0.02, 8.0, 1000.0]))
    steps = np.rint(rng.normal(0, draw(st.sampled_from([20.0, 50.0])), shape)).clip(-126, 126)
    steps += rng.uniform(-HALF, HALF, shape)
    levels = np.exp(rng.normal(0, 1, (*shape[:-1], 1))).clip(0.7, 10) * largest / 127
    if kind == "halves":
        steps = rng.choice(HALVES, shape) * rng.choice([-1, 1], shape)
        levels = 2.0 ** rng.integers(-6, 3, levels.shape)
    at = rng.integers(0, shape[-1], levels.shape)
    np.put_along_axis(steps, at, rng.choice([-127.0, 127.0], levels.shape), axis=-1)
    if kind == "zeros":
        levels *= rng.random(levels.shape) < 0.5
        levels.reshape(-1)[rng.integers(levels.size)] = 0
    return (steps * levels).astype(dtype)


def quantised(weight):
    """The weight in int8 and its scales; the scale of a row of zeros is 1."""
    scale = np.abs(weight).max(axis=-1, keepdims=True) / 127
    scale = np.where(scale == 0, 1, scale).astype(weight.dtype)
    return np.rint(weight / scale).astype(np.int8), scale


def draw_case(draw, kind="plain"):
    dtype = draw(st.float_dtypes())
    lead = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 2), (1, 3)]))
    d_out, d_in = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    if kind == "wide":
        d_in, lead = draw(st.sampled_from([256, 700, 1024])), (2,)
    w_kind = draw(st.sampled_from(["plain", "plain", "zeros"])) if kind == "zeros" else "plain"
    w_q, w_scale = quantised(draw_rows(draw, (d_out, d_in), dtype, w_kind))
    if kind == "wide":
        w_q = np.abs(w_q)
    return {
        "x": draw(st.permuted(st.just(draw_rows(draw, (*lead, d_in), dtype, kind)))),
        "w_q": draw(st.permuted(st.just(w_q))),
        "w_scale": w_scale,
    }


@KATA.cases
def cases(draw):
    kinds = ["plain", "plain", "plain", "plain", "zeros", "halves", "wide"]
    return draw_case(draw, draw(st.sampled_from(kinds)))


@KATA.corner(points=0.5)
def rows_of_zeros(x, w_q):
    """A row of zeros gives zeros, in the input and in the weight."""
    return bool((x == 0).all(axis=-1).any() or (w_q == 0).all(axis=-1).any())


@KATA.corner(points=0.5)
def exact_halves(x):
    """Exact halves are rounded to even."""
    largest = np.abs(x).max(axis=-1, keepdims=True).astype(np.float64)
    steps = 127 * np.divide(x, largest, out=np.zeros(x.shape), where=largest > 0)
    return bool((abs(abs(steps) % 1 - 0.5) < 1e-3).any())


@KATA.corner(points=0.5)
def wide_rows(x):
    """Sums of up to 1,024 products are exact."""
    return x.shape[-1] >= WIDE


def weight_of_the_statement():
    w_q = np.array([[127, 0, 0], [127, 127, 127]], dtype=np.int8)
    return {"w_q": w_q, "w_scale": np.array([[0.02], [1 / 127]])}


def in_float32(weight):
    return {**weight, "w_scale": weight["w_scale"].astype(np.float32)}


@KATA.example
def example_of_the_statement():
    return {"x": np.array([1.27, -0.5, 0.004]), **weight_of_the_statement()}


@KATA.example
def rows_of_different_size():
    """The largest number is negative in one row; the sizes of the rows differ a hundredfold."""
    x = np.array([[0.09, -0.2, 0.03], [25.0, 10.3, -7.0]])
    return {"x": x.astype(np.float32), **in_float32(weight_of_the_statement())}


@KATA.example
def a_row_of_zeros_among_others():
    return {"x": np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 0.5]]), **weight_of_the_statement()}


def row_of_zeros_at(row):
    x = np.tile([1.0, -2.0, 0.5], (4, 1))
    x[row] = 0
    return {"x": x, **weight_of_the_statement()}


@KATA.example
def zeros_in_the_first_of_four_rows():
    return row_of_zeros_at(0)


@KATA.example
def zeros_in_the_last_of_four_rows():
    """The shape of the example before, whose mask of zeros does not fit."""
    return row_of_zeros_at(3)


@KATA.example
def halves_of_a_step():
    """Steps of one quarter."""
    x = np.array([[31.75, 0.125, 0.375], [-0.625, -31.75, -0.875]], dtype=np.float32)
    return {"x": x, **in_float32(weight_of_the_statement())}


@KATA.example
def the_largest_sum():
    """1,024 products of 127 and 127, and of 127 and -127."""
    w_q = np.full((2, 1024), 127, dtype=np.int8) * np.array([[1], [-1]], dtype=np.int8)
    x = np.full((1, 1024), 2.54, dtype=np.float32)
    return {"x": x, "w_q": w_q, "w_scale": np.array([[0.5], [0.25]], dtype=np.float32)}


@KATA.graded_part("quantize_rows")
def without_scales_of_zeros(answer, x):
    """The answer of quantize_rows, with the scale 0 for rows of zeros, which may have any scale."""
    q, scale = answer
    zeros = (x == 0).all(axis=-1, keepdims=True)
    if getattr(scale, "shape", None) == zeros.shape and np.isfinite(scale).all():
        scale = np.where(zeros, np.zeros_like(scale), scale)
    return q, scale


@KATA.observe
def observe(student, x, w_q, w_scale):
    """Return what the kata compares: q and the scales of quantize_rows, and the result of int8_linear."""
    q, scale = without_scales_of_zeros(student.quantize_rows(x), x)
    return {"q": q, "scale": scale, "result": student.int8_linear(x, w_q, w_scale)}


def pair(student, x):
    """q and scale, once they are known to be arrays of the right shapes, q of int8."""
    answer = student.quantize_rows(x)
    expect.true(
        isinstance(answer, tuple | list) and len(answer) == 2, "quantize_rows must return q and scale."
    )
    q, scale = answer
    shapes = getattr(q, "shape", None), getattr(scale, "shape", None)
    due = x.shape, (*x.shape[:-1], 1)
    expect.true(shapes == due, f"q and scale have the shapes {due[0]} and {due[1]}; they came with {shapes}.")
    expect.true(q.dtype == np.int8, f"q is int8; it came as {q.dtype}.")
    return q, scale


@KATA.law(points=0.5)
def test_no_number_is_off_by_more_than_half_a_scale(student, x):
    """q times scale is off by half a scale at most."""
    q, scale = pair(student, x)
    error = np.abs(q * scale.astype(np.float64) - x) / np.where(scale == 0, 1, scale)
    worst = float(error.max())
    expect.true(worst < 0.5 + 1e-4, f"A number is off by {worst:.3g} scales; half a scale is the most.")


@KATA.law(points=0.5)
def test_the_largest_number_becomes_127(student, x):
    """Every row that is not zero has an entry of 127 or -127, and none beyond."""
    q, _ = pair(student, x)
    largest = np.abs(q.astype(int)).max(axis=-1)
    expect.equal(largest, np.full_like(largest, 127), "the largest absolute value of each row of q")


@KATA.law(points=0.5)
def test_sizes_and_signs_go_their_own_ways(student, x):
    """Turning the signs turns q, and doubling a row doubles its scale alone."""
    q, scale = pair(student, x)
    turned, same = pair(student, -x)
    expect.equal(turned, -q, "q for -x")
    expect.close(same, scale, "the scale for -x")
    q_twice, twice = pair(student, 2 * x)
    expect.equal(q_twice, q, "q for 2 times x")
    expect.close(twice, 2 * scale, "the scale for 2 times x")


def whole_numbers(draw):
    """Whole numbers with a largest of 127 in every row, and so many that their sums are large."""
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    d_in = draw(st.sampled_from([1, 2, 3, 5, 8]))
    x, weight = (rng.integers(-127, 128, (draw(st.integers(1, 3)), d_in)) for _ in range(2))
    x[:, 0], weight[:, -1] = 127, -127
    return {"x": x.astype(dtype), "weight": weight.astype(dtype)}


@KATA.law(points=0.5, cases=whole_numbers)
def test_whole_numbers_are_exact(student, x, weight):
    """Whole numbers with a largest of 127 come back exactly, and so do their products."""
    q, scale = pair(student, x)
    expect.equal(q, x.astype(np.int8), "q for whole numbers with a largest of 127")
    expect.close(scale, np.ones_like(scale), "the scale for whole numbers with a largest of 127")
    ones = np.ones((len(weight), 1), x.dtype)
    result = student.int8_linear(x, weight.astype(np.int8), ones)
    expect.close(result, x @ weight.T, "the product of whole numbers", terms=x.shape[1])


def several_rows(draw):
    case = draw_case(draw)
    shape = draw(st.integers(2, 3)), case["w_q"].shape[1]
    return {**case, "x": draw_rows(draw, shape, case["x"].dtype.name)}


@KATA.law(points=0.5, cases=several_rows)
def test_rows_stand_alone(student, x, w_q, w_scale):
    """A row's numbers do not depend on other rows."""
    (q, scale), together = pair(student, x), student.int8_linear(x, w_q, w_scale)
    for row in range(len(x)):
        alone, its_scale = pair(student, x[row : row + 1])
        expect.equal(q[row : row + 1], alone, f"q of row {row} of {len(x)}, against itself alone,")
        expect.close(scale[row : row + 1], its_scale, f"the scale of row {row}, against itself alone,")
        result = student.int8_linear(x[row : row + 1], w_q, w_scale)
        expect.close(together[row : row + 1], result, f"the result of row {row}, against itself alone,")


@KATA.law(points=0.5)
def test_outputs_stand_alone(student, x, w_q, w_scale):
    """An output depends on its own row of the weight, and is in proportion to its scale."""
    result = student.int8_linear(x, w_q, w_scale)
    backwards = student.int8_linear(x, w_q[::-1], w_scale[::-1])
    expect.close(backwards[..., ::-1], result, "the result for the rows of the weight in reverse order")
    twice = student.int8_linear(x, w_q, 2 * w_scale)
    expect.close(twice, 2 * result, "the result for 2 times w_scale")
