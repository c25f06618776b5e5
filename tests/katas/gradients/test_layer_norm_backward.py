"""layer_norm_backward: its cases and its laws.

Rows far from zero are whole numbers whose mean is a whole number too, so float32 holds the mean exactly.
Drawn rows have at least four features: with two, dx is 0 but for eps, and with three it is often small.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 16
NAMES = "dx", "dgamma", "dbeta"

KATA = Kata(
    "layer_norm_backward",
    track="gradients",
    entry_points=("layer_norm_backward",),
    title="Back through mean and variance",
    source="Ba, Kiros and Hinton 2016, section 3, and the chain rule",
    axes={
        "dy": "batch tokens d_model",
        "x": "batch tokens d_model",
        "gamma": "d_model",
        "dx": "batch tokens d_model",
        "dgamma": "d_model",
        "dbeta": "d_model",
    },
    hints=(
        "Begin at the end: what multiplies a number of gamma in y, and in how many rows does it stand? The "
        "same for beta. Then take one row without gamma: if you add 1 to all of its numbers, how does normal "
        "change, and what does that say about the sum of its row of dx?",
        "First bring dy through gamma: the gradient with respect to normal, g [..., d_model]. If mean and "
        "variance were constants, dx would be g over the root. Through the mean every number of the row "
        "loses the same amount. Through the variance every number loses an amount in proportion to its own "
        "entry of normal. Each of the two amounts is an average over the row, [..., 1]: of what?",
        "With s = 1 / sqrt(variance + eps), normal n and g, all for one row:\n\n"
        "    through x itself       s g\n"
        "    through the mean       minus s times the average of g\n"
        "    through the variance   minus s n times the average of g n\n\n"
        "The derivative of the root gives -s^3 / 2, the derivative of the variance 2 (x - mean) / d_model; "
        "their product with the centred row is where the average of g n and the factor n come from. Through "
        "the mean inside of the variance nothing comes, for a centred row sums to 0. Add the three for dx. "
        "dgamma adds dy n over all leading axes, and dbeta adds dy; g has gamma in it and does not belong "
        "there. A row without leading axes is the sum over no axes.",
    ),
    hint_for={
        "forgets_the_way_through_the_mean": 1,
        "multiplies_dgamma_by_x": 1,
        "forgets_gamma_in_dx": 2,
        "forgets_the_way_through_the_variance": 2,
        "sums_where_averages_are_due": 3,
        "multiplies_dgamma_by_gamma": 3,
    },
    roundings=ROUNDINGS,
    bank_size=40,
)


def leading_axes(draw):
    """Two axes in front, one, none or three, none of them long."""
    axes = draw(st.sampled_from([2, 1, 2, 0, 3]))
    return tuple(draw(st.sampled_from([2, 3, 1])) for _ in range(axes))


def some_leading_axes(draw):
    """One or two axes in front."""
    return tuple(draw(st.sampled_from([2, 3, 1])) for _ in range(draw(st.sampled_from([1, 2]))))


def near_rows(draw, shape, dtype):
    """Rows with a spread of their own, from below the root of eps to far above it."""
    scale = draw(st.sampled_from([1.0, 1.0, 0.01, 0.002, 30.0]))
    level = draw(st.sampled_from([0.0, 0.0, 1.0, -3.0])) * scale
    return (spread_rows(draw, shape) * scale + level).astype(dtype)


def plain_rows(draw, shape, dtype):
    """Rows around zero or one, with a spread of about 1."""
    return (spread_rows(draw, shape) + draw(st.sampled_from([0.0, 1.0]))).astype(dtype)


def spread_rows(draw, shape):
    wide = st.normal_arrays(shape, "float64")
    return np.round(draw(wide.filter(lambda drawn: drawn.std(axis=-1).min() > 0.3)), 2)


def far_rows(draw, shape, dtype):
    """Whole numbers around one large level, each row's mean a whole number, its spread at least 1."""
    rows = np.random.default_rng(draw(st.integers(0, 2**16))).integers(-4, 5, shape)
    rows[..., -1] -= rows.sum(axis=-1) % shape[-1]
    rows[..., 0] += shape[-1] * (rows.std(axis=-1) < 1)
    return (rows + draw(st.sampled_from([10_000, -10_000]))).astype(dtype)


def backward_case(draw, rows=near_rows, lead=leading_axes, eps=(1e-5, 1e-5, 1e-3, 0.5)):
    """Arguments of one call; each feature has its own gamma."""
    shape, dtype = (*lead(draw), draw(st.sampled_from([4, 5, 6, 7]))), draw(st.float_dtypes())
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    dy, gamma = np.round(rng.standard_normal(shape), 1), np.round(rng.standard_normal(shape[-1]), 1)
    return {
        "dy": draw(st.permuted(st.just((dy + 0.05).astype(dtype)))),
        "x": draw(st.permuted(st.just(rows(draw, shape, dtype)))),
        "gamma": (gamma + 0.05).astype(dtype),
        "eps": draw(st.sampled_from(eps)),
    }


def plain_cases(draw):
    return backward_case(draw, rows=plain_rows, lead=some_leading_axes, eps=(1e-5,))


@KATA.cases
def cases(draw):
    rows = draw(st.sampled_from([near_rows, plain_rows, plain_rows, far_rows]))
    return backward_case(draw, rows=rows, eps=(1e-5, 1e-5, 1e-3, 0.5) if rows is near_rows else (1e-5,))


@KATA.corner(points=0.5)
def rows_far_from_zero(x):
    """Rows around 10000 have their gradients in float32 as well."""
    return bool((np.abs(x.mean(axis=-1)) > 1000).any())


@KATA.corner(points=0.5)
def eps_that_shows(x, eps):
    """Eps is the number given, added under the root: another eps, or rows with a small spread."""
    return eps != 1e-5 or bool((x.std(axis=-1) < 0.1).any())


@KATA.corner(points=0.5)
def a_single_row(x):
    """A row without leading axes has its gradients too."""
    return x.ndim == 1


def pinned(dy, x, gamma, eps=1e-5, dtype="float64"):
    dy, x, gamma = (np.array(numbers, dtype=dtype) for numbers in (dy, x, gamma))
    return {"dy": dy, "x": x, "gamma": gamma, "eps": eps}


@KATA.example
def worked_example():
    return pinned([[0, 1, 0, 0], [0, 0, 0, 1]], [[1, 2, 0, 1], [3, 1, 1, 3]], [1, 1, 1, 2])


@KATA.example
def as_many_rows_as_features():
    return pinned(
        [[1, 0, 2], [0, -1, 1], [2, 1, 0]], [[1, 5, 3], [2, 0, 1], [0, 0, 6]], [1, 2, -1], dtype="float32"
    )


@KATA.example
def rows_around_ten_thousand():
    x = [[10_001, 9_999, 10_003, 9_997], [1, -1, 3, -3]]
    return pinned([[1, 0, 0, 0], [0, 0, 2, 0]], x, [1, 1, 1, 1], dtype="float32")


@KATA.example
def a_tiny_eps():
    """Smaller than float32's own step around 1, and the spread of a row as small."""
    return pinned([[1, 0, 0], [0, 1, 3]], [[1e-4, -1e-4, 2e-4], [3e-5, 0, -1e-5]], [1, 1, 1], 1e-9, "float32")


@KATA.example
def eps_of_0():
    """Nothing is added, and a spread of 1e-3 counts in full."""
    return pinned([[1, 0, 0], [0, 1, 3]], [[1e-3, -1e-3, 2e-3], [1, 3, -1]], [1, 2, -1], 0.0)


@KATA.example
def a_row_alone():
    return pinned([1, 0, 0, 2], [2, 0, 1, 5], [1, 3, 1, 0.5])


@KATA.observe
def observe(student, dy, x, gamma, eps):
    """An eps of 1e-5 is asked for by leaving it out, so that the default is judged too."""
    answer = student.layer_norm_backward(dy, x, gamma, **({} if eps == 1e-5 else {"eps": eps}))
    if isinstance(answer, tuple | list) and len(answer) == 3:
        return dict(zip(NAMES, answer, strict=True))
    return {"result": answer}


def gradients(student, dy, x, gamma, eps):
    """(dx, dgamma, dbeta), once they are three arrays of their shapes."""
    answer = student.layer_norm_backward(dy, x, gamma, eps=eps)
    triple = isinstance(answer, tuple | list) and len(answer) == 3
    expect.true(triple, "The result is the tuple (dx, dgamma, dbeta).")
    for name, part, due in zip(NAMES, answer, (x.shape, gamma.shape, gamma.shape), strict=True):
        shape = getattr(part, "shape", None)
        expect.true(shape == due, f"{name} must have the shape {due}; it came with {shape}.")
    return answer


def normal_of(x, eps):
    """The normalised rows, in float64."""
    centred = x - x.mean(axis=-1, keepdims=True, dtype=np.float64)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)


@KATA.law(points=1, cases=plain_cases)
def test_dx_is_the_slope(student, dy, x, gamma, eps):
    """Each entry of dx is how much sum(dy * y) changes when that number of x does (central differences)."""
    step, wide, slopes = 1e-4, x.astype(np.float64), np.empty(x.shape)
    for at in np.ndindex(x.shape):
        there, back = wide.copy(), wide.copy()
        there[at] += step
        back[at] -= step
        slopes[at] = (dy * gamma * (normal_of(there, eps) - normal_of(back, eps))).sum() / (2 * step)
    dx, _, _ = gradients(student, dy, x, gamma, eps)
    what = "dx, against the change of sum(dy * y) for a small change of each number of x,"
    expect.close(dx, slopes.astype(x.dtype), what, terms=x.shape[-1], roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=plain_cases)
def test_rows_of_dx_sum_to_zero(student, dy, x, gamma, eps):
    """Each row of dx sums to 0."""
    sums = gradients(student, dy, x, gamma, eps)[0].sum(axis=-1)
    expect.close(sums, np.zeros_like(sums), "the sum of each row of dx", terms=x.shape[-1], roundings=64)


def cases_with_a_tiny_eps(draw):
    return backward_case(draw, rows=plain_rows, lead=some_leading_axes, eps=(1e-12,))


@KATA.law(points=0.5, cases=cases_with_a_tiny_eps)
def test_dx_is_orthogonal_to_normal(student, dy, x, gamma, eps):
    """With a tiny eps each row of dx is orthogonal to its row of normal."""
    products = (gradients(student, dy, x, gamma, eps)[0] * normal_of(x, eps)).sum(axis=-1).astype(x.dtype)
    what = f"the sum of dx * normal along each row, for eps = {eps:g},"
    expect.close(products, np.zeros_like(products), what, terms=x.shape[-1], roundings=64)


@KATA.law(points=0.5, cases=plain_cases)
def test_dgamma_adds_up_all_rows(student, dy, x, gamma, eps):
    """dgamma is the sum of dy * normal over all leading axes."""
    _, dgamma, _ = gradients(student, dy, x, gamma, eps)
    expected = (dy * normal_of(x, eps)).sum(axis=tuple(range(x.ndim - 1))).astype(x.dtype)
    what = "dgamma, against the sum of dy * normal over all leading axes,"
    expect.close(dgamma, expected, what, terms=9, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_dbeta_adds_up_all_rows(student, dy, x, gamma, eps):
    """dbeta is the sum of dy over all leading axes."""
    _, _, dbeta = gradients(student, dy, x, gamma, eps)
    expected = dy.sum(axis=tuple(range(x.ndim - 1)))
    expect.close(dbeta, expected, "dbeta, against the sum of dy over all leading axes,", terms=9, roundings=4)
