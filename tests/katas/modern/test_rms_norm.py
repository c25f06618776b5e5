"""rms_norm: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

DEFAULT = 1e-6
LARGE = 1e4  # beside such a mean square the default of eps is lost in float32
LARGE_SCALES = [(4000.0, 300.0, 1200.0)]  # of rows in which it is lost
SMALL_SCALES = [(1.0, 10.0, 100.0), (1.0, 10.0, 100.0), (1.0, 0.01, 0.001)]

KATA = Kata(
    "rms_norm",
    track="modern",
    entry_points=("rms_norm",),
    title="Every token's vector brought to one length",
    source="Zhang and Sennrich 2019, section 3; Touvron et al. 2023, section 2.2",
    axes={"x": "batch tokens d_model", "gamma": "d_model"},
    hints=(
        "Take the first row of the example by hand: its squares, their average, a root, a division. Which "
        "axis does the average run over, and does that still hold with a batch in front?",
        "An average drops its axis, and each must meet its own row again. And eps: is it added before the "
        "root is taken, or after?",
        "Square x, average along axis -1 with the axis kept, add eps, take the root; divide x by that and "
        "multiply by gamma. Nothing is subtracted anywhere.",
    ),
    hint_for={
        "normalises_over_the_first_axis": 1,
        "normalises_the_second_axis": 1,
        "loses_the_averaged_axis": 2,
        "adds_eps_after_the_root": 2,
        "subtracts_the_mean": 3,
    },
    roundings=2,
    bank_size=40,
)


def rows(draw, lead, scales=SMALL_SCALES):
    """Rows, each of a size of its own, from below the root of eps to far above it, around zero or beside
    it."""
    shape = (*lead, draw(st.sampled_from([3, 4, 2, 5, 1])))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    scale = rng.permutation(np.resize(draw(st.sampled_from(scales)), int(np.prod(lead)))).reshape((*lead, 1))
    level = draw(st.sampled_from([0.0, 0.0, 1.0, -1.0]))
    return (draw(st.arrays(shape, "float64")) + level) * scale


@KATA.cases
def cases(draw, kinds=("plain", "plain", "plain", "small", "axes")):
    """Rows so large that adding eps changes nothing; small rows, where it does; other leading axes."""
    kind, dtype = draw(st.sampled_from(kinds)), draw(st.float_dtypes())
    lead = draw(st.sampled_from([(), (2, 1, 2)] if kind == "axes" else [(2, 3), (3,), (1, 2), (2, 2)]))
    x = rows(draw, lead) if kind == "small" else rows(draw, lead, scales=LARGE_SCALES)
    gamma = np.random.default_rng(draw(st.integers(0, 2**16))).integers(-6, 7, x.shape[-1]) / 4 + 0.1
    return {
        "x": draw(st.permuted(st.just(x.astype(dtype)))),
        "gamma": gamma.astype(dtype),
        "eps": draw(st.sampled_from([DEFAULT, DEFAULT, 1e-3, 0.5] if kind == "small" else [DEFAULT])),
    }


@KATA.corner(points=0.5)
def eps_that_counts(x, eps):
    """Small rows, and another eps than the default, come out right."""
    return eps != DEFAULT or bool(((x * x).mean(axis=-1) < LARGE).any())


@KATA.corner(points=0.5)
def any_leading_axes(x):
    """A single vector, and more than two leading axes, are normalised as well."""
    return x.ndim not in (2, 3)


@KATA.example
def printed_rows():
    x = np.array([[1.0, 2.0, 2.0, 4.0], [0.001, -0.001, -0.001, 0.001]])
    return {"x": x, "gamma": np.array([1.0, 1.0, 0.5, 2.0]), "eps": DEFAULT}


@KATA.example
def a_row_of_zeros_among_others():
    x = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], dtype=np.float32)
    return {"x": x, "gamma": np.array([1.0, 2.0, -1.0], dtype=np.float32), "eps": DEFAULT}


@KATA.example
def numbers_of_one_size_around_zero():
    """Rows that many formulas bring to the same result."""
    x = np.array([[2000.0, -2000.0, -2000.0, 2000.0], [500.0, 500.0, -500.0, -500.0]], dtype=np.float32)
    return {"x": x, "gamma": np.ones(4, dtype=np.float32), "eps": DEFAULT}


@KATA.example
def a_single_vector():
    """No leading axis."""
    return {"x": np.array([3000.0, 0.0, 4000.0]), "gamma": np.array([1.0, 2.0, -1.0]), "eps": DEFAULT}


@KATA.example
def a_tiny_eps():
    """Smaller than float32's own step around 1, and the squares of the rows as small."""
    x = np.array([[1e-4, -1e-4, 2e-4], [3e-5, 0.0, -1e-5]], dtype=np.float32)
    return {"x": x, "gamma": np.ones(3, np.float32), "eps": 1e-9}


@KATA.example
def eps_of_0():
    """Nothing is added, and numbers of 1e-4 count in full."""
    x = np.array([[1e-4, -1e-4, 2e-4], [1.0, 3.0, -1.0]])
    return {"x": x, "gamma": np.array([1.0, 2.0, -1.0]), "eps": 0.0}


@KATA.example
def one_feature():
    """Its sign is left, times gamma, but for eps."""
    return {"x": np.array([[1e-3], [-2e-3], [0.0]]), "gamma": np.array([2.0]), "eps": DEFAULT}


@KATA.observe
def observe(student, x, gamma, eps):
    """The default of eps is asked for by leaving it out, so that it is judged too."""
    given = {} if eps == DEFAULT else {"eps": eps}
    return {"result": student.rms_norm(x, gamma, **given)}


def normed(student, x, gamma, eps):
    """What rms_norm returns, once it is an array like x."""
    result = student.rms_norm(x, gamma, eps=eps)
    shape = getattr(result, "shape", None)
    expect.true(shape == x.shape, f"The result must have the shape of x, {x.shape}; it came with {shape}.")
    return result


@KATA.law(points=1)
def test_gamma_scales_the_features(student, x, gamma, eps):
    """Gamma multiplies what has been normalised, feature by feature."""
    plain = normed(student, x, np.ones_like(gamma), eps)
    what = "the result, against gamma times the result for a gamma of ones,"
    expect.close(normed(student, x, gamma, eps), gamma * plain, what, terms=4)


def scaled_cases(draw):
    return {**cases(draw, kinds=["small"]), "factor": draw(st.sampled_from([4.0, 0.25, 64.0]))}


@KATA.law(points=1, cases=scaled_cases)
def test_eps_belongs_to_the_mean_square(student, x, gamma, eps, factor):
    """Scaling x by c and eps by c squared changes nothing."""
    before = normed(student, x, gamma, eps)
    after = normed(student, x * x.dtype.type(factor), gamma, eps * factor**2)
    what = f"the result for {factor:g} times x and {factor**2:g} times eps"
    expect.close(after, before, what, terms=x.shape[-1], roundings=4)


def level_rows(draw):
    """Rows of one number each, and a gamma of ones."""
    d_model, dtype = draw(st.integers(1, 5)), draw(st.float_dtypes())
    levels = np.array(
        draw(st.lists(st.sampled_from([500.0, -500.0, 2000.0, -300.0]), min_size=1, max_size=3))
    )
    x = np.repeat(levels[:, None], d_model, axis=1).astype(dtype)
    return {"x": x, "gamma": np.ones(d_model, dtype=dtype), "eps": DEFAULT}


@KATA.law(points=0.5, cases=level_rows)
def test_nothing_is_subtracted(student, x, gamma, eps):
    """A row of one number over and over keeps its sign, and comes out near 1 in size."""
    expected = x / np.sqrt(x * x + x.dtype.type(eps))
    expect.close(normed(student, x, gamma, eps), expected, "the result for rows of equal numbers", terms=5)


def several_rows(draw):
    case = cases(draw, kinds=["plain"])
    x = rows(draw, (2, draw(st.integers(2, 3))), scales=LARGE_SCALES).astype(case["x"].dtype)
    return {**case, "x": x, "gamma": np.ones(x.shape[-1], dtype=x.dtype)}


@KATA.law(points=0.5, cases=several_rows)
def test_each_token_stands_alone(student, x, gamma, eps):
    """A token is normalised in a batch as it is by itself."""
    together = normed(student, x, gamma, eps)[-1, -1]
    alone = normed(student, x[-1:, -1:], gamma, eps)[0, 0]
    what = "the last token's row in the batch, against the same token alone,"
    expect.close(together, alone, what, terms=x.shape[-1], roundings=4)


@KATA.law(points=0.5)
def test_printed_figures(student):
    """The printed rows come out as printed."""
    expected = [[0.4, 0.8, 0.4, 3.2], [0.7071, -0.7071, -0.3536, 1.4142]]
    expect.decimals(normed(student, **printed_rows()), np.array(expected), 4, "the printed result")
