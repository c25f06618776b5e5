"""layer_norm: its cases and its laws.

Rows far from zero are whole numbers whose mean is a whole number too, so float32 holds the mean exactly; an
honest single pass still rounds its running mean, by a thousandth at 1e4. `ROUNDINGS` leaves room for that.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 16

KATA = Kata(
    "layer_norm",
    track="blocks",
    entry_points=("layer_norm",),
    title="Every token's vector brought to one size",
    source="Ba, Kiros and Hinton 2016, section 3; Vaswani et al. 2017, section 3.1",
    axes={"x": "batch tokens d_model", "gamma": "d_model", "beta": "d_model"},
    hints=(
        "Take one row by hand: its mean, the average of its squared distances from that mean, a root. Which "
        "axis do both averages run over, and does that still hold with a batch in front?",
        "The averages drop the last axis; each must meet its own row again, so keep the axis with length 1. "
        "Subtract the mean before you square: the squares of large numbers leave float32 no digits.",
        "Centre: x minus its mean along axis -1, with the axis kept. Variance: the mean of the squares of "
        "that, axis kept as well. Divide what is centred by the root of variance plus eps, multiply by "
        "gamma, add beta.",
    ),
    hint_for={
        "normalises_over_the_first_axis": 1,
        "normalises_the_second_axis": 1,
        "normalises_over_tokens_too": 1,
        "divides_by_the_variance": 1,
        "loses_the_reduced_axis": 2,
        "subtracts_the_square_of_the_mean": 2,
    },
    roundings=ROUNDINGS,
    bank_size=40,
)


def leading_axes(draw):
    """Return up to three short axes in front of the last one. A single row is rare: it does not show whether
    each row is normalised by itself."""
    axes = draw(st.sampled_from([1, 2, 1, 2, 3, 0]))
    return tuple(draw(st.sampled_from([2, 3, 2, 1])) for _ in range(axes))


def near_rows(draw, shape, dtype):
    """Rows, each with a spread and a level of its own, from far below the root of eps to far above it."""
    spreads = draw(st.sampled_from([(1.0, 5.0, 30.0), (1.0, 5.0, 30.0), (0.002, 0.01, 1.0)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    scale = rng.permutation(np.resize(spreads, int(np.prod(shape[:-1])))).reshape((*shape[:-1], 1))
    level = rng.choice([0.0, 1.0, -3.0], scale.shape) * scale
    wide = st.normal_arrays(shape, "float64")
    rows = draw(wide.filter(lambda drawn: drawn.std(axis=-1).min() > 0.3))
    return (np.round(rows, 2) * scale + level).astype(dtype)


def far_rows(draw, shape, dtype):
    """Rows of whole numbers, whose mean is whole too. float32 rows lie around one large level."""
    level = draw(st.sampled_from([10_000, -10_000] if dtype == "float32" else [8, -8]))
    return (whole_rows(draw, shape) + level).astype(dtype)


def rows_on_both_sides(draw, shape, dtype):
    """Whole numbers around 10000, every other row around -10000; float64 stays near zero."""
    level = 10_000 if dtype == "float32" else 8
    sides = (-1) ** np.arange(int(np.prod(shape[:-1]))).reshape((*shape[:-1], 1))
    return (whole_rows(draw, shape) + level * sides).astype(dtype)


def whole_rows(draw, shape):
    """Small whole numbers, each row's mean a whole number, its spread at least 1."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    rows = rng.integers(-4, 5, shape)
    rows[..., -1] -= rows.sum(axis=-1) % shape[-1]
    rows[..., 0] += shape[-1] * (rows.std(axis=-1) < 1)
    return rows


def norm_case(draw, rows=near_rows, lead=leading_axes):
    """Arguments of one call: vectors of at least two features, each feature with its own gamma and beta."""
    shape = (*lead(draw), draw(st.sampled_from([3, 4, 2, 5, 6])))
    dtype = draw(st.float_dtypes())
    features = np.round(np.random.default_rng(draw(st.integers(0, 2**16))).standard_normal((2, shape[-1])), 1)
    return {
        "x": draw(st.permuted(st.just(rows(draw, shape, dtype)))),
        "gamma": np.round(features[0] + 0.05, 12).astype(dtype),
        "beta": np.round(features[1] + 0.05, 12).astype(dtype),
        "eps": draw(st.sampled_from([1e-5, 1e-5, 1e-3, 0.5])),
    }


@KATA.cases
def cases(draw):
    rows = draw(st.sampled_from([near_rows, near_rows, far_rows, rows_on_both_sides]))
    case = norm_case(draw, rows=rows)
    return case if rows is near_rows else {**case, "eps": 1e-5}


@KATA.example
def printed_rows():
    x = np.array([[1.0, 2.0, 0.0, 1.0], [0.2, 0.4, 0.8, 0.6]])
    return {"x": x, "gamma": np.ones(4), "beta": np.zeros(4), "eps": 1e-5}


@KATA.example
def as_many_rows_as_features():
    x = np.array([[1.0, 5.0, 3.0], [2.0, 0.0, 1.0], [0.0, 0.0, 6.0]], dtype=np.float32)
    gamma, beta = np.array([1.0, 2.0, -1.0], dtype=np.float32), np.array([0.5, 0.0, 3.0], dtype=np.float32)
    return {"x": x, "gamma": gamma, "beta": beta, "eps": 1e-5}


@KATA.example
def rows_around_zero():
    x = np.array([[1.0, -1.0, 3.0, -3.0], [2.0, 0.0, -4.0, 2.0]])
    return {
        "x": x,
        "gamma": np.array([1.0, 2.0, -1.0, 0.5]),
        "beta": np.array([0.5, 0.0, 3.0, -1.0]),
        "eps": 1e-5,
    }


@KATA.example
def rows_around_ten_thousand():
    x = np.array([[10_001.0, 9_999.0, 10_003.0, 9_997.0], [1.0, -1.0, 3.0, -3.0]], dtype=np.float32)
    return {"x": x, "gamma": np.ones(4, np.float32), "beta": np.zeros(4, np.float32), "eps": 1e-5}


@KATA.corner(points=0.5)
def rows_far_from_zero(x):
    """Rows around 10000 are normalised in float32 as well."""
    return bool((np.abs(x.mean(axis=-1)) > 1000).any())


@KATA.corner(points=0.5)
def eps_that_shows(x, eps):
    """Eps is the number given, added under the root: another eps, or rows with a small spread."""
    return eps != 1e-5 or bool((x.std(axis=-1) < 0.1).any())


@KATA.example
def a_tiny_eps():
    """Smaller than float32's own step around 1, and the spread of a row as small."""
    x = np.array([[1e-4, -1e-4, 2e-4], [3e-5, 0.0, -1e-5]], dtype=np.float32)
    return {"x": x, "gamma": np.ones(3, np.float32), "beta": np.zeros(3, np.float32), "eps": 1e-9}


@KATA.example
def eps_of_0():
    """Nothing is added, and a spread of 1e-3 counts in full."""
    x = np.array([[1e-3, -1e-3, 2e-3], [1.0, 3.0, -1.0]])
    return {"x": x, "gamma": np.array([1.0, 2.0, -1.0]), "beta": np.array([0.5, 0.0, 3.0]), "eps": 0.0}


@KATA.example
def one_feature():
    """It is its own mean, so only beta is left."""
    x = np.array([[2.0], [-3.0]], dtype=np.float32)
    return {"x": x, "gamma": np.array([2.0], np.float32), "beta": np.array([0.5], np.float32), "eps": 1e-5}


@KATA.observe
def observe(student, x, gamma, beta, eps):
    """An eps of 1e-5 is asked for by leaving it out, so that the default is judged too."""
    given = {} if eps == 1e-5 else {"eps": eps}
    return {"result": student.layer_norm(x, gamma, beta, **given)}


def normed(student, x, gamma, beta, eps):
    """What layer_norm returns, once it is an array like x."""
    result = student.layer_norm(x, gamma, beta, eps=eps)
    shape = getattr(result, "shape", None)
    expect.true(shape == x.shape, f"The result must have the shape of x, {x.shape}; it came with {shape}.")
    return result


def plain(student, x, eps):
    """The norm with gamma all ones and beta all zeros."""
    one = np.ones(x.shape[-1], dtype=x.dtype)
    return normed(student, x, one, np.zeros_like(one), eps)


def far_cases(draw):
    """Rows around zero, and the level that they are moved to."""
    case = norm_case(draw, rows=far_rows)
    level = case["x"].dtype.type(round(float(case["x"].mean()), -3) or 8)
    return {"x": case["x"] - level, "level": level, "gamma": case["gamma"], "beta": case["beta"]}


@KATA.law(points=0.5, cases=far_cases)
def test_level_of_a_row_does_not_matter(student, x, level, gamma, beta):
    """Adding one number to all features changes nothing, even 10000 in float32."""
    near, far = (normed(student, rows, gamma, beta, 1e-5) for rows in (x, x + level))
    what = f"the result after {level:g} was added to every number of x"
    expect.close(far, near, what, terms=x.shape[-1], roundings=ROUNDINGS)


@KATA.law(points=1)
def test_gamma_scales_and_beta_shifts(student, x, gamma, beta, eps):
    """Gamma multiplies what has been normalised, then beta is added."""
    expected = plain(student, x, eps) * gamma + beta
    what = "the result, against gamma times the plain norm (gamma of ones, beta of zeros), plus beta,"
    expect.close(normed(student, x, gamma, beta, eps), expected, what, terms=4, roundings=4)


def scaled_cases(draw):
    case = norm_case(draw)
    return {**case, "factor": draw(st.sampled_from([4.0, 0.25, 64.0]))}


@KATA.law(points=0.5, cases=scaled_cases)
def test_eps_belongs_to_the_variance(student, x, gamma, beta, eps, factor):
    """Scaling x by c and eps by c squared changes nothing."""
    before = normed(student, x, gamma, beta, eps)
    after = normed(student, x * x.dtype.type(factor), gamma, beta, eps * factor**2)
    what = f"the result for {factor:g} times x and {factor**2:g} times eps"
    expect.close(after, before, what, terms=x.shape[-1], roundings=ROUNDINGS)


def several_rows(draw):
    """At least two rows, so that one can meddle with another."""
    return norm_case(draw, lead=lambda draw: (draw(st.integers(1, 3)), draw(st.integers(2, 3))))


@KATA.law(points=0.5, cases=several_rows)
def test_each_token_stands_alone(student, x, gamma, beta, eps):
    """A token is normalised in a batch as it is by itself."""
    together = normed(student, x, gamma, beta, eps)[-1, -1]
    alone = normed(student, x[-1, -1], gamma, beta, eps)
    what = "the last token's row in the batch, against the same token alone,"
    expect.close(together, alone, what, terms=x.shape[-1], roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_printed_figures(student):
    """The printed rows get the means 0 and 0, and the variances 1.0 and 0.9998."""
    result = plain(student, printed_rows()["x"], 1e-5)
    expect.decimals(result.mean(axis=-1), np.array([0.0, 0.0]), 4, "the mean of each row")
    expect.decimals(result.var(axis=-1), np.array([1.0, 0.9998]), 4, "the variance of each row")
