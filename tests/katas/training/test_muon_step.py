"""muon_step: its cases and its laws.

A step multiplies small singular values, and their rounding, by 3.4445; `ROUNDINGS` leaves room for that.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
KINDS = (*["plain"] * 7, "zeros", "defaults", "defaults")
SHAPES = [(2, 3), (3, 2), (4, 2), (2, 2), (3, 3), (1, 3), (4, 1), (2, 5)]

KATA = Kata(
    "muon_step",
    track="training",
    entry_points=("orthogonalize", "muon_step"),
    title="All directions count alike",
    source="Jordan et al. 2024, Muon",
    axes={"matrix": "rows columns", "weight": "rows columns"},
    roundings=ROUNDINGS,
    bank_size=40,
    hints=(
        "Take a matrix with entries on its diagonal alone, and one step by hand. What becomes of each entry, "
        "and what does gram hold?",
        "First one number divides all entries; when is it 0? Each step makes gram anew, [m, m], which "
        "stands on the left of x. In the update the gradient stands twice: in the momentum and beside it.",
        "Divide the matrix by the root of the sum of its squares, or by 1 where that is 0. In each step make "
        "the product of x and its transpose; x becomes the first coefficient times x plus a matrix times x, "
        "which is the second coefficient times the product plus the third times the product's product with "
        "itself. For the step: beta times the old momentum plus the gradient is the new momentum; beta times "
        "that plus the gradient is orthogonalized, multiplied by lr and the root of rows over columns (at "
        "least 1), and subtracted from the weight.",
    ),
    hint_for={
        "divides_by_zero": 2,
        "keeps_the_first_gram": 2,
        "uses_the_momentum_alone": 2,
        "squares_gram_entry_by_entry": 3,
        "forgets_the_shape": 3,
    },
)


def draw_matrix(draw, shape, dtype):
    """A matrix whose singular values are a tenth of their norm at least."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    scale = draw(st.sampled_from([1.0, 4.0, 30.0]))
    least = min(shape)
    left, right = (np.linalg.qr(rng.standard_normal((n, least)))[0] for n in shape)
    return ((left * rng.uniform(0.3, 1.5, least)) @ right.T * scale).astype(dtype)


@KATA.cases
def cases(draw):
    """Tall, wide and square matrices; now and then one of zeros, or arguments left out."""
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.float_dtypes())
    shape = draw(st.sampled_from(SHAPES))
    matrix, gradient, momentum = (draw_matrix(draw, shape, dtype) for _ in range(3))
    arrays = {
        "matrix": 0 * matrix if kind == "zeros" else matrix,
        "weight": draw(st.normal_arrays(shape, dtype)),
        "gradient": gradient,
        "momentum": 0 * momentum if draw(st.sampled_from([False, False, True])) else momentum,
    }
    options = {"lr": draw(st.sampled_from([0.5, 0.1, 1.0])), "beta": draw(st.sampled_from([0.5, 0.9, 0.75]))}
    steps = draw(st.sampled_from([5, 1, 2, 3]))
    if kind == "defaults":
        steps, options = None, draw(st.sampled_from([{}, {"lr": 0.5}, {"beta": 0.5}]))
    return {
        **{name: draw(st.permuted(st.just(x))) for name, x in arrays.items()},
        "steps": steps,
        "options": options,
    }


@KATA.corner(points=0.5)
def matrix_of_zeros(matrix):
    """A matrix of zeros stays as it is."""
    return not matrix.any()


@KATA.corner(points=0.5)
def arguments_left_out(steps, options):
    """What is left out has the default of the signature."""
    return steps is None or len(options) < 2


def printed(steps, weight, gradient, momentum):
    """The arguments of the statement's examples."""
    matrices = {"matrix": [[3, 0], [0, 4]], "weight": weight, "gradient": gradient, "momentum": momentum}
    given = {name: np.array(x, dtype=np.float64) for name, x in matrices.items()}
    return {**given, "steps": steps, "options": {"lr": 0.1, "beta": 0.5}}


@KATA.example
def printed_first_step():
    return printed(5, [[1, 0], [0, 1]], [[3, 0], [0, 4]], [[0, 0], [0, 0]])


@KATA.example
def printed_second_step():
    return printed(1, [[0.928, 0], [0, 0.888]], [[0, 4], [3, 0]], [[3, 0], [0, 4]])


@KATA.example
def all_arguments_left_out():
    given = printed(None, [[0.5, 0.25], [0, -0.5]], [[0, 4], [3, 1]], [[3, 2], [0, -4]])
    return {**given, "weight": given["weight"] / 32, "options": {}}


@KATA.example
def tiny():
    """The root of the sum of squares may be 1e-8, that of an update too, and nothing is added to it."""
    given = printed(2, [[1, 0], [0.5, 1]], [[0, 4], [3, 1]], [[3, 0], [0, 4]])
    small = {name: given[name] * 2.5e-9 for name in ("gradient", "momentum")}
    return {**given, **small, "matrix": np.array([[3.0, 1.0], [0.0, 4.0]]) * 2.5e-9}


@KATA.example
def huge():
    """The root of the sum of squares may be 1e8."""
    given = printed(2, [[1, 0], [0.5, 1]], [[0, 4], [3, 1]], [[3, 0], [0, 4]])
    return {**given, "matrix": np.array([[3.0, 1.0], [0.0, 4.0]]) * 1.5e7}


@KATA.example
def beta_of_0():
    """Nothing of the momentum is kept."""
    given = printed(3, [[1, 0], [0.5, 1]], [[0, 4], [3, 1]], [[3, 0], [0, 4]])
    return {**given, "options": {"lr": 0.1, "beta": 0.0}}


@KATA.example
def lr_of_0():
    """The weight stays, and the momentum does not."""
    given = printed(3, [[1, 0], [0.5, 1]], [[0, 4], [3, 1]], [[3, 0], [0, 4]])
    return {**given, "options": {"lr": 0.0, "beta": 0.5}}


@KATA.example
def zeros():
    given = printed(2, [[1, 0], [0.5, 1]], [[0, 4], [3, 1]], [[3, 0], [0, 4]])
    return {**given, "matrix": np.zeros((2, 2))}


@KATA.observe
def observe(student, matrix, weight, gradient, momentum, steps, options):
    """The orthogonalized matrix, and the results of the step by name."""
    given = {} if steps is None else {"steps": steps}
    result = {"orthogonalized": student.orthogonalize(matrix, **given)}
    answer = student.muon_step(weight, gradient, momentum, **options)
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return {**result, "weight": answer[0], "momentum": answer[1]}
    return {**result, "result": answer}


def orthogonalized(student, matrix):
    """What orthogonalize returns, once it has the shape of the matrix and is not zero."""
    result = student.orthogonalize(matrix)
    shape, due = getattr(result, "shape", None), matrix.shape
    expect.true(shape == due, f"The result must have the shape {due}; it is {shape}.")
    expect.true(np.any(result), "A matrix that is not zero must not become zeros.")
    return result


def a_matrix(draw):
    return {"matrix": draw_matrix(draw, draw(st.sampled_from(SHAPES)), draw(st.float_dtypes()))}


@KATA.law(points=1, cases=a_matrix)
def test_singular_values_come_near_1(student, matrix):
    """All singular values of the result lie between 0.68 and 1.14."""
    result = orthogonalized(student, matrix)
    expect.true(np.isfinite(result).all(), "The result must be finite.")
    values = np.linalg.svd(np.asarray(result, np.float64), compute_uv=False)
    shown = ", ".join(f"{value:.4g}" for value in values)
    near = (values > 0.68).all() and (values < 1.14).all()
    expect.true(near, f"The singular values must lie between 0.68 and 1.14; they are {shown}.")


def turned_matrix(draw):
    """A matrix, and an orthogonal one for either side of it."""
    matrix = a_matrix(draw)["matrix"]
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in matrix.shape)
    return {"matrix": matrix, "left": left.astype(matrix.dtype), "right": right.astype(matrix.dtype)}


@KATA.law(points=1, cases=turned_matrix)
def test_turning_comes_before_or_after(student, matrix, left, right):
    """A matrix turned by orthogonal ones on both sides has the result turned alike."""
    there = orthogonalized(student, matrix)
    back = orthogonalized(student, left @ matrix @ right)
    what = "the result for left @ matrix @ right"
    expect.close(back, left @ there @ right, what, terms=8, roundings=2 * ROUNDINGS)


@KATA.law(points=0.5, cases=a_matrix)
def test_scale_does_not_count(student, matrix):
    """A matrix times a millionth, or times 64, has the same result."""
    due = orthogonalized(student, matrix)
    for factor in (1e-6, 64.0):
        got = orthogonalized(student, matrix * matrix.dtype.type(factor))
        what = f"the result for {factor:g} times the matrix"
        expect.close(got, due, what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=a_matrix)
def test_transposing_comes_before_or_after(student, matrix):
    """The transposed matrix has the transposed result."""
    there = orthogonalized(student, matrix)
    back = orthogonalized(student, np.ascontiguousarray(matrix.T))
    expect.close(back, there.T, "the result for the transposed matrix", terms=8, roundings=ROUNDINGS)


def a_step(draw):
    shape, dtype = draw(st.sampled_from(SHAPES)), draw(st.float_dtypes())
    weight, gradient = (draw_matrix(draw, shape, dtype) for _ in range(2))
    return {"weight": weight, "gradient": gradient, "beta": draw(st.sampled_from([0.5, 0.9]))}


@KATA.law(points=0.5, cases=a_step)
def test_length_of_a_step_does_not_depend_on_the_gradient(student, weight, gradient, beta):
    """A gradient and a momentum 16 times as large move the weight alike, and it does move."""
    moves = []
    for factor in (1, 16):
        large = gradient * gradient.dtype.type(factor)
        answer = student.muon_step(weight, large, large, lr=1.0, beta=beta)
        pair = isinstance(answer, tuple | list) and len(answer) == 2
        expect.true(pair, "The result must be the tuple (weight, momentum).")
        shape = getattr(answer[0], "shape", None)
        expect.true(shape == weight.shape, f"The weight must have the shape {weight.shape}; it is {shape}.")
        moves.append(answer[0])
    what = "the weight after a step with 16 times the gradient and the momentum"
    expect.close(moves[1], moves[0], what, terms=8, roundings=ROUNDINGS)
    expect.true(np.abs(moves[0] - weight).max() > 0.1, "The weight must move by lr times a matrix near 1.")
