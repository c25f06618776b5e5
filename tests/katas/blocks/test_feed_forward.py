"""feed_forward: its cases and its laws.

float32 cases are quarters, whose sums of products are exact in any order; float64 cases are normal numbers,
in which a computation with fewer digits shows.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4

KATA = Kata(
    "feed_forward",
    track="blocks",
    entry_points=("feed_forward",),
    title="What each token does by itself",
    source="Vaswani et al. 2017, section 3.3",
    axes={
        "x": "batch tokens d_model",
        "w1": "d_model d_ff",
        "b1": "d_ff",
        "w2": "d_ff d_model",
        "b2": "d_model",
    },
    hints=(
        "Write the shapes under the formula: [..., d_model] times [d_model, d_ff], and back. No transpose is "
        "needed. Between the two products one thing happens to each number by itself.",
        "The ReLU compares each hidden number with 0; the function that takes the largest along an axis is "
        "another one. Each bias is added to the last axis, the first of them before the ReLU.",
        "Multiply x by w1 from the right and add b1. Put 0 wherever that is negative. Multiply by w2 from "
        "the right and add b2. The matrix product works on the last axis of x, whatever stands in front.",
    ),
    hint_for={
        "forgets_the_relu": 1,
        "puts_the_relu_at_the_end": 1,
        "transposes_the_matrices": 1,
        "takes_the_maximum_over_an_axis": 2,
        "adds_b1_after_the_relu": 2,
    },
    roundings=ROUNDINGS,
    bank_size=40,
)


def numbers(rng, shape, dtype, largest=2):
    """Quarters in float32, normal numbers in float64; of a size that `largest` gives."""
    if dtype == "float32":
        return (rng.integers(-4 * largest, 4 * largest + 1, shape) / 4).astype(dtype)
    return np.round(rng.standard_normal(shape) * largest / 2, 2) + rng.standard_normal(shape) * 1e-10


def leading_axes(draw, counts=(2, 1, 0)):
    """Two axes in front, one or none, none of them long."""
    axes = draw(st.sampled_from(counts))
    return tuple(draw(st.sampled_from([2, 3, 1])) for _ in range(axes))


def network_case(draw, lead=leading_axes):
    """Arguments of one call; d_ff is now and then smaller than d_model, or the same."""
    d_model, d_ff = draw(st.sampled_from([(2, 3), (3, 5), (2, 2), (3, 3), (4, 2), (1, 4), (3, 6), (4, 1)]))
    dtype, rng = draw(st.float_dtypes()), np.random.default_rng(draw(st.integers(0, 2**16)))
    x = numbers(rng, (*lead(draw), d_model), dtype, largest=draw(st.sampled_from([2, 2, 1, 48])))
    return {
        "x": draw(st.permuted(st.just(x))),
        "w1": draw(st.permuted(st.just(numbers(rng, (d_model, d_ff), dtype)))),
        "b1": numbers(rng, (d_ff,), dtype),
        "w2": draw(st.permuted(st.just(numbers(rng, (d_ff, d_model), dtype)))),
        "b2": numbers(rng, (d_model,), dtype),
    }


@KATA.cases
def cases(draw):
    """Now and then with three axes in front."""
    return network_case(draw, lead=lambda draw: leading_axes(draw, counts=(2, 1, 0, 3)))


@KATA.corner(points=0.5)
def large_numbers(x):
    """Large hidden numbers pass as they are: the ReLU has no bound from above."""
    return bool(np.abs(x).max() > 8)


@KATA.corner(points=0.5)
def few_or_many_axes(x):
    """A single vector is fed through as well, and vectors under three leading axes."""
    return x.ndim == 1 or x.ndim > 3


@KATA.example
def worked_example():
    return {
        "x": np.array([[2.0, 1.0], [1.0, 3.0]]),
        "w1": np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 2.0]]),
        "b1": np.array([0.0, -2.0, 0.0]),
        "w2": np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]]),
        "b2": np.array([0.5, -1.0]),
    }


@KATA.example
def one_vector():
    """The first row of the worked example by itself, in float32."""
    return {
        name: array.astype(np.float32)
        for name, array in {**worked_example(), "x": np.array([2.0, 1.0])}.items()
    }


@KATA.example
def one_vector_with_large_numbers():
    return {
        "x": np.array([200.0, -40.0], dtype=np.float32),
        "w1": np.array([[1.0, -1.0, 0.5], [0.0, 1.0, 2.0]], dtype=np.float32),
        "b1": np.array([0.5, 0.0, -1.0], dtype=np.float32),
        "w2": np.array([[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]], dtype=np.float32),
        "b2": np.array([0.25, -1.0], dtype=np.float32),
    }


@KATA.example
def printed_network():
    w1 = [
        [1.0, 0.0, 0.5, 0.0, 0.0, 0.2],
        [0.0, 1.0, 0.0, 0.5, 0.2, 0.0],
        [0.4, 0.2, 1.0, 0.0, 0.0, 0.5],
        [0.0, 0.2, 0.0, 1.0, 0.4, 0.0],
    ]
    w2 = [
        [0.3, 0.0, 0.0, 0.1],
        [0.0, 0.3, 0.1, 0.0],
        [0.2, 0.0, 0.3, 0.0],
        [0.0, 0.2, 0.0, 0.3],
        [0.1, 0.0, 0.0, 0.2],
        [0.0, 0.1, 0.2, 0.0],
    ]
    x = [[1.0, 0.0, 0.4, 0.0], [0.2, 1.0, 0.5, 0.0], [0.0, 0.3, 0.8, 1.0]]
    return {
        "x": np.array(x),
        "w1": np.array(w1),
        "b1": np.zeros(6),
        "w2": np.array(w2),
        "b2": np.zeros(4),
    }


def fed(student, x, w1, b1, w2, b2):
    """What feed_forward returns, once it is an array like x."""
    result = student.feed_forward(x, w1, b1, w2, b2)
    shape = getattr(result, "shape", None)
    expect.true(shape == x.shape, f"The result must have the shape of x, {x.shape}; it came with {shape}.")
    return result


@KATA.law(points=1)
def test_silent_units_leave_the_bias(student, x, w1, b1, w2, b2):
    """Where every hidden unit is below zero, the result is b2."""
    silent = b1 - b1.dtype.type(2) * np.abs(x @ w1).max() - b1.dtype.type(5)
    result = fed(student, x, w1, silent, w2, b2)
    what = f"the result for a b1 of {silent.round(2).tolist()}, which keeps every hidden unit below zero,"
    expect.close(result, np.broadcast_to(b2, x.shape), what, terms=4, roundings=ROUNDINGS)


def rescaled_cases(draw):
    case = network_case(draw)
    return {**case, "factor": draw(st.sampled_from([4.0, 0.25, 64.0]))}


@KATA.law(points=0.5, cases=rescaled_cases)
def test_positive_numbers_pass_unchanged(student, x, w1, b1, w2, b2, factor):
    """Multiplying w1 and b1 by a positive number and dividing w2 by it changes nothing."""
    by = x.dtype.type(factor)
    before, after = fed(student, x, w1, b1, w2, b2), fed(student, x, w1 * by, b1 * by, w2 / by, b2)
    what = f"the result for {factor:g} times w1 and b1, and w2 divided by {factor:g},"
    expect.close(after, before, what, terms=8, roundings=ROUNDINGS)


def several_tokens(draw):
    """At least two sequences of two tokens, so that one can meddle with another."""
    return network_case(draw, lead=lambda draw: (draw(st.integers(2, 3)), draw(st.integers(2, 3))))


@KATA.law(points=0.5, cases=several_tokens)
def test_each_token_stands_alone(student, x, w1, b1, w2, b2):
    """A token gets in a batch what it gets by itself."""
    together = fed(student, x, w1, b1, w2, b2)[0, -1]
    alone = fed(student, x[0, -1], w1, b1, w2, b2)
    what = "the last token of the first sequence in the batch, against the same token alone,"
    expect.close(together, alone, what, terms=8, roundings=ROUNDINGS)


def shifted_cases(draw):
    case = network_case(draw)
    shift = np.full_like(case["b2"], draw(st.sampled_from([-64.0, 64.0, -3.5])))
    return {**case, "shift": shift}


@KATA.law(points=0.5, cases=shifted_cases)
def test_b2_shifts_the_result(student, x, w1, b1, w2, b2, shift):
    """Adding something to b2 adds it to every token's result, negative or not."""
    expected = fed(student, x, w1, b1, w2, b2) + shift
    result = fed(student, x, w1, b1, w2, b2 + shift)
    expect.close(result, expected, f"the result after {shift[0]:g} was added to b2", roundings=16)


@KATA.law(points=0.5)
def test_printed_figures(student):
    """The last of the three printed tokens becomes [0.302, 0.468, 0.386, 0.469]."""
    last = fed(student, **printed_network())[-1]
    expect.decimals(last, np.array([0.302, 0.468, 0.386, 0.469]), 3, "the last row of the printed example")
