"""softmax: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "softmax",
    track="attention",
    entry_points=("softmax",),
    title="Scores become probabilities",
    source="Vaswani et al. 2017, section 3.2.1; Goodfellow, Bengio and Courville 2016, section 4.1",
    bank_size=40,
    hints=(
        "Adding the same number to every score of a slice leaves its softmax as it was. Which number, added "
        "to each slice, keeps exp from overflowing, and leaves at least one term of the sum that is not 0?",
        "Each slice along `axis` has its own maximum and its own sum. NumPy's reductions take `axis`, and "
        "can keep the reduced axis with length 1, so that each slice meets its own. Mind the dtype before "
        "you subtract: small integers wrap round.",
        "Make floats of integers (float64). Subtract from each slice its maximum along `axis`, with the axis "
        "kept. Take exp; the result is a new array, and exp(-inf) is already 0. Divide by its sum along the "
        "same axis, kept as well.",
    ),
    hint_for={
        "forgets_to_subtract_the_max": 1,
        "subtracts_the_mean": 1,
        "subtracts_the_min": 1,
        "subtracts_the_max_of_the_whole_array": 2,
        "divides_by_the_sum_of_the_whole_array": 2,
        "loses_the_summed_axis": 2,
        "subtracts_before_leaving_the_integers": 2,
    },
)

LENGTHS = (2, 3, 1, 4)
INTEGER_DTYPES = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")


def float_scores(draw):
    """Scores of ordinary size, whose slices lie at different levels."""
    return draw_floats(draw, scales=[1.0, 1.0, 8.0], levels=[0, 0, 3, -3])


def masked_floats(draw):
    """The same, some of them -inf."""
    case = float_scores(draw)
    x, axis = case["x"], case["axis"]
    return {**case, "x": np.where(draw_masked(draw, x.shape, axis), -np.inf, x).astype(x.dtype)}


def far_apart_scores(draw):
    """Scores beyond what exp can take: on distant levels, or so widely spread that one takes everything.
    Nowhere are fine differences lost in the rounding of large scores, as in exp(x - logsumexp(x))."""
    scale = draw(st.sampled_from([1.0, 1.0, 20.0, 1e4, 1e30]))
    levels = [0] if scale > 100 else [0, 60, -60, 200, -200, 300, -300]
    case = draw_floats(draw, scales=[scale], levels=levels, arrays=st.normal_arrays)
    x, axis = case["x"], case["axis"]
    return (
        {**case, "x": np.where(draw_masked(draw, x.shape, axis), -np.inf, x)} if draw(st.booleans()) else case
    )


def draw_floats(draw, scales, levels, arrays=st.arrays):
    shape, axis = draw_shape_and_axis(draw, most_axes=4)
    dtype = draw(st.float_dtypes())
    x = draw(st.permuted(arrays(shape, dtype, scale=draw(st.sampled_from(scales)))))
    return {"x": x + draw_levels(draw, shape, axis, levels).astype(dtype), "axis": axis}


def draw_shape_and_axis(draw, most_axes):
    """Two axes to begin with, since one slice alone hides most mistakes; then any number of them."""
    axes = draw(st.sampled_from([2, 1, *range(3, most_axes + 1)]))
    shape = tuple(draw(st.sampled_from(LENGTHS)) for _ in range(axes))
    return shape, draw(st.one_of(st.just(-1), st.integers(-axes, axes - 1)))


def draw_levels(draw, shape, axis, levels):
    """One level for each slice along the axis, ready to be added; or the same for all."""
    one_a_slice = tuple(1 if a == axis % len(shape) else length for a, length in enumerate(shape))
    if draw(st.booleans()):
        return np.full(one_a_slice, float(draw(st.sampled_from(levels))))
    size = int(np.prod(one_a_slice))
    drawn = draw(st.lists(st.sampled_from(levels), min_size=size, max_size=size))
    return np.array(drawn, dtype=np.float64).reshape(one_a_slice)


def draw_masked(draw, shape, axis):
    """Which scores become -inf; a slice that would lose all of its scores keeps them."""
    size = int(np.prod(shape))
    masked = np.zeros(size, dtype=bool)
    masked[sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=1 + size // 2)))] = True
    masked = masked.reshape(shape)
    return masked & ~masked.all(axis=axis, keepdims=True)


def integer_scores(draw):
    """Scores of any integer dtype: small ones, and the ends of its range, up to 2**32."""
    shape, axis = draw_shape_and_axis(draw, most_axes=3)
    dtype = draw(st.sampled_from(INTEGER_DTYPES))
    lowest, highest = max(np.iinfo(dtype).min, -(2**32)), min(np.iinfo(dtype).max, 2**32)
    ends = st.sampled_from([lowest, lowest + 1, highest - 1, highest])
    scores = st.one_of(st.integers(max(lowest, -5), 5), ends)
    size = int(np.prod(shape))
    x = np.array(draw(st.lists(scores, min_size=size, max_size=size)), dtype=dtype).reshape(shape)
    return {"x": draw(st.permuted(st.just(x))), "axis": axis}


@KATA.cases
def scores(draw):
    kinds = [float_scores] * 5 + [masked_floats, far_apart_scores, far_apart_scores, integer_scores]
    return draw(st.sampled_from(kinds))(draw)


@KATA.corner(points=0.5)
def extreme_scores(x):
    """Scores beyond what exp can take give probabilities as well."""
    return x.dtype.kind == "f" and np.abs(x[x > -np.inf]).max() > 50


@KATA.corner(points=0.5)
def scores_of_minus_infinity(x):
    """Scores of -inf leave the whole probability to the others of their slice."""
    return bool(np.isneginf(x).any())


@KATA.corner(points=0.5)
def integer_scores_count(x):
    """Integers of any dtype are scores too, and give float64."""
    return x.dtype.kind != "f"


def moderate_scores(draw):
    """Small scores, and for each slice a shift that keeps them exact in their dtype."""
    shape, axis = draw_shape_and_axis(draw, most_axes=3)
    dtype = draw(st.float_dtypes())
    shift = draw_levels(draw, shape, axis, [300, -300, 100, -100])
    return {"x": draw(st.readable_arrays(shape, dtype)), "axis": axis, "shift": shift.astype(dtype)}


def masked_scores(draw):
    """One slice, in which at least one score is -inf and at least one is not."""
    length = draw(st.integers(2, 6))
    masked = draw(st.sets(st.integers(0, length - 2), min_size=1))
    x = draw(st.arrays((length,), draw(st.float_dtypes())))
    x[sorted(masked)] = -np.inf
    return {"x": np.roll(x, draw(st.integers(0, length - 1)))}


@KATA.example
def scaled_scores_of_a_query():
    return {"x": np.array([12.4, 9.1, 3.8]) / 8, "axis": -1}


@KATA.example
def two_rows_far_apart():
    return {"x": np.array([[0.0, 1.0, 2.0], [200.0, 201.0, 202.0]], dtype=np.float32), "axis": -1}


@KATA.example
def columns_with_a_masked_score():
    return {"x": np.array([[0.0, -np.inf, 3.0], [1.0, -2.0, 3.0]]), "axis": 0}


@KATA.example
def a_masked_score_among_very_low_ones():
    return {"x": np.array([[-1e30, -np.inf], [0.5, 0.0]], dtype=np.float32), "axis": 1}


@KATA.example
def a_masked_score_among_low_ones():
    return {"x": np.array([[-3e4, -np.inf], [0.5, 0.0]], dtype=np.float32), "axis": 1}


@KATA.example
def the_middle_axis_of_a_view():
    x = np.array([[[0.0, 3.0], [-1.0, 1.0]], [[2.0, 0.5], [0.0, -2.0]], [[1.0, 1.0], [4.0, 0.0]]])
    return {"x": x.transpose(1, 0, 2), "axis": -2}


@KATA.example
def the_first_of_four_axes():
    return {"x": np.linspace(-2, 3, 12, dtype=np.float32).reshape(2, 3, 1, 2), "axis": 0}


@KATA.example
def bytes_that_wrap_round():
    return {"x": np.array([[3, 5], [0, 255]], dtype=np.uint8), "axis": 1}


@KATA.example
def the_ends_of_int32():
    return {"x": np.array([[2**31 - 1, -(2**31)], [2**31 - 2, 0]], dtype=np.int32), "axis": -2}


@KATA.example
def integers_that_only_float64_tells_apart():
    return {"x": np.array([2**32, 2**32 - 1, 2**32]), "axis": -1}


@KATA.observe
def observe(student, x, axis):
    """The last axis is asked for by leaving it out, so that the default is judged too."""
    return {"result": student.softmax(x) if axis == -1 else student.softmax(x, axis=axis)}


def probabilities(student, x, axis):
    """What softmax returns, once it is an array that can be compared entry by entry."""
    result = student.softmax(x, axis=axis)
    shape = getattr(result, "shape", None)
    expect.true(shape == x.shape, f"The result must have the shape of x, {x.shape}; it came with {shape}.")
    return result


@KATA.law(points=0.5)
def test_slices_sum_to_one(student, x, axis):
    """Every slice along the axis sums to one."""
    total = probabilities(student, x, axis).sum(axis=axis)
    expect.close(total, np.ones(total.shape), "the sum of each slice", terms=x.shape[axis])


@KATA.law(points=0.5, cases=moderate_scores)
def test_only_differences_count(student, x, axis, shift):
    """Adding one number to all scores of a slice changes nothing."""
    before, after = probabilities(student, x, axis), probabilities(student, x + shift, axis)
    expect.close(after, before, f"softmax(x + {shift.ravel().tolist()})", terms=x.shape[axis], roundings=2)


@KATA.law(points=0.5, cases=moderate_scores)
def test_differences_become_ratios(student, x, axis):
    """Two probabilities of a slice are in the ratio of e to the difference of their scores."""
    result = probabilities(student, x, axis)
    with np.errstate(all="ignore"):
        ratio = result / result.max(axis=axis, keepdims=True)
    expected = np.exp(x - x.max(axis=axis, keepdims=True).astype(np.float64))
    expect.close(ratio, expected, "the ratio of each probability to the largest of its slice", roundings=4)


@KATA.law(points=0.5, cases=masked_scores)
def test_masked_scores_get_nothing(student, x):
    """A score of -inf gets probability 0, and the others share the rest as if it were not there."""
    result, kept = probabilities(student, x, -1), x[x > -np.inf]
    nothing = np.zeros(len(x) - len(kept))
    expect.equal(result[x == -np.inf], nothing, "the probability of the scores that are -inf")
    alone = probabilities(student, kept, -1)
    expect.close(result[x > -np.inf], alone, "the probability of the other scores", terms=len(x), roundings=2)


@KATA.law(points=0.5)
def test_axes_are_alike(student, x, axis):
    """An axis is treated as the last one would be, and the last one is the default."""
    along = np.moveaxis(probabilities(student, x, axis), axis, -1)
    last = student.softmax(np.moveaxis(x, axis, -1))
    expect.close(last, along, "softmax with that axis moved to the end", terms=x.shape[axis], roundings=2)


@KATA.law(points=0.5)
def test_order_does_not_matter(student, x, axis):
    """Scores in reverse order get their probabilities in reverse order."""
    backwards = np.flip(probabilities(student, x, axis), axis)
    result = probabilities(student, np.flip(x, axis), axis)
    expect.close(result, backwards, "the softmax of the reversed scores", terms=x.shape[axis], roundings=2)


@KATA.law(points=0.5)
def test_printed_table(student):
    """The scores 12.4, 9.1 and 3.8 give the printed weights, raw and divided by sqrt(64)."""
    scores = np.array([12.4, 9.1, 3.8])
    expect.decimals(
        student.softmax(scores), np.array([0.964, 0.036, 0.0]), 3, "the row of weights of raw scores"
    )
    scaled = student.softmax(scores / np.sqrt(64))
    expect.decimals(scaled, np.array([0.499, 0.330, 0.170]), 3, "the row of weights of scaled scores")
