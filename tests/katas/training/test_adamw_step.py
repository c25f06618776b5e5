"""adamw_step: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

OPTIONS = {"lr", "betas", "eps", "weight_decay"}

KATA = Kata(
    "adamw_step",
    track="training",
    entry_points=("adamw_step",),
    title="One step of AdamW",
    source="Loshchilov and Hutter 2019, algorithm 2; Kingma and Ba 2015, algorithm 1",
    roundings=2,
    bank_size=36,
    hints=(
        "Take the first step of the example by hand: m, v, both corrected, their quotient. Which m and v are "
        "used in the update, and which are returned?",
        "The update has two parts that do not touch each other: the quotient of the corrected means, and "
        "weight_decay times the parameter as it came. lr multiplies both. Where does eps stand: under the "
        "root, or beside it?",
        "m is beta1 times m plus (1 - beta1) times the gradient; v the same with beta2 and the gradient's "
        "square. Divide each by one minus its beta to the power of step. Divide the first by the root of the "
        "second plus eps, add weight_decay times the parameter, multiply by lr and subtract from the "
        "parameter. Return that with the uncorrected m and v.",
    ),
)


def draw_state(draw, like, scale):
    """The means after some steps, or the zeros that training begins with: m, v and the step's number."""
    if draw(st.sampled_from([False, False, True])):
        return np.zeros_like(like), np.zeros_like(like), 1
    m = draw(st.arrays(like.shape, str(like.dtype), scale))
    root = draw(st.arrays(like.shape, str(like.dtype), scale))
    return m, root * root, draw(st.sampled_from([2, 3, 1, 10, 200]))


@KATA.cases
def cases(draw, kinds=("plain", "plain", "plain", "tiny", "defaults")):
    """Steps long enough to be seen, some with options left out, some with gradients as small as eps."""
    kind, dtype = draw(st.sampled_from(kinds)), draw(st.float_dtypes())
    shape = draw(st.shapes(draw(st.sampled_from([2, 1, 3])), longest=3))
    left_out = draw(st.sampled_from([OPTIONS, {"lr"}, {"betas"}, {"weight_decay"}, {"eps"}]))
    tiny = kind == "tiny" or (kind, left_out) == ("defaults", {"eps"})
    scale = 1e-7 if tiny else draw(st.sampled_from([1.0, 4.0, 20.0]))
    gradient = draw(st.normal_arrays(shape, "float64", scale)).astype(dtype)
    m, v, step = draw_state(draw, gradient, scale)
    options = {
        "lr": draw(st.sampled_from([0.1, 0.5, 1.0])),
        "betas": draw(st.sampled_from([(0.9, 0.999), (0.5, 0.75), (0.75, 0.9), (0.0, 0.5)])),
        "eps": 1e-8 if tiny else draw(st.sampled_from([1e-8, 0.1, 0.5, 2.0])),
        "weight_decay": draw(st.sampled_from([0.1, 0.5, 0.01, 0.0])),
    }
    if kind == "defaults":
        options = {name: value for name, value in options.items() if name not in left_out}
    parameter = draw(st.arrays(shape, dtype)) * np.asarray(0.01 if "lr" not in options else 1, dtype)
    arrays = {"parameter": parameter, "gradient": gradient, "m": m, "v": v}
    return {
        **{name: draw(st.permuted(st.just(array))) for name, array in arrays.items()},
        "step": step,
        "options": options,
    }


@KATA.corner(points=0.5)
def options_left_out(options):
    """What is left out has the default of the signature."""
    return set(options) != OPTIONS


@KATA.corner(points=0.5)
def tiny_gradients(gradient):
    """Gradients as small as the default of eps are divided by their root plus eps as well."""
    return bool(np.abs(gradient).max() < 1e-5)


ALL_GIVEN = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}


@KATA.example
def printed_first_step():
    one, zero = np.array([1.0]), np.array([0.0])
    return {"parameter": one, "gradient": one / 2, "m": zero, "v": zero, "step": 1, "options": {"lr": 0.1}}


@KATA.example
def printed_second_step():
    state = {"parameter": 0.899, "gradient": -0.25, "m": 0.05, "v": 0.00025}
    return {**{name: np.array([x]) for name, x in state.items()}, "step": 2, "options": ALL_GIVEN}


@KATA.example
def eps_left_out():
    """A gradient of the default's size."""
    arrays = {"parameter": np.array([0.5, -1.0]), "gradient": np.array([1e-8, -2e-8])}
    zeros = {"m": np.zeros(2), "v": np.zeros(2)}
    return {**arrays, **zeros, "step": 1, "options": {"lr": 0.5, "betas": (0.5, 0.5), "weight_decay": 0.0}}


@KATA.example
def all_options_left_out():
    """Weights as small as the default of lr."""
    arrays = {"parameter": np.array([0.01, -0.02, 0.0]), "gradient": np.array([2.0, 1.0, -4.0])}
    return {
        **arrays,
        "m": np.array([1.0, -0.5, 0.0]),
        "v": np.array([2.0, 1.0, 9.0]),
        "step": 3,
        "options": {},
    }


@KATA.example
def gradients_of_the_size_of_eps():
    """The root and eps share the divisor."""
    arrays = {"parameter": np.array([0.5, -1.0, 2.0]), "gradient": np.array([1e-8, -3e-7, 0.0])}
    state = {"m": np.array([0.0, 2e-8, 1e-8]), "v": np.array([0.0, 1e-14, 1e-16])}
    options = {"lr": 0.5, "betas": (0.5, 0.75), "eps": 1e-8, "weight_decay": 0.1}
    return {**arrays, **state, "step": 2, "options": options}


@KATA.example
def a_large_eps_and_a_large_rate():
    """Here the formulas that differ in the order of eps, correction and decay lie far apart."""
    arrays = {
        "parameter": np.array([[2.0, -1.0], [0.5, 4.0]], dtype=np.float32),
        "gradient": np.array([[1.0, 0.5], [-2.0, 0.25]], dtype=np.float32),
        "m": np.array([[0.5, 0.25], [1.0, -0.5]], dtype=np.float32),
        "v": np.array([[0.25, 1.0], [0.0, 0.5]], dtype=np.float32),
    }
    options = {"lr": 0.5, "betas": (0.5, 0.75), "eps": 1.0, "weight_decay": 0.5}
    return {**arrays, "step": 3, "options": options}


@KATA.example
def lr_of_0():
    """The parameter stays, and the means move."""
    arrays = {"parameter": np.array([0.5, -1.0]), "gradient": np.array([2.0, -1.0])}
    state = {"m": np.array([1.0, 0.5]), "v": np.array([4.0, 1.0])}
    return {**arrays, **state, "step": 2, "options": {**ALL_GIVEN, "lr": 0.0}}


@KATA.example
def betas_of_0():
    """Nothing of the means is kept."""
    arrays = {"parameter": np.array([0.5, -1.0]), "gradient": np.array([2.0, -1.0])}
    state = {"m": np.array([1.0, 0.5]), "v": np.array([4.0, 1.0])}
    options = {"lr": 0.5, "betas": (0.0, 0.0), "eps": 0.5, "weight_decay": 0.5}
    return {**arrays, **state, "step": 2, "options": options}


@KATA.example
def a_late_step():
    """After 2000 steps a beta2 of 0.999 still leaves a correction of a tenth."""
    arrays = {"parameter": np.array([0.5, -1.0]), "gradient": np.array([2.0, -1.0])}
    return {
        **arrays,
        "m": np.array([1.0, 0.5]),
        "v": np.array([4.0, 1.0]),
        "step": 2000,
        "options": ALL_GIVEN,
    }


@KATA.example
def an_eps_below_the_default():
    """A root as small as that."""
    arrays = {"parameter": np.array([0.5, -1.0]), "gradient": np.array([1e-9, -3e-9])}
    options = {**ALL_GIVEN, "betas": (0.5, 0.75), "eps": 1e-10}
    return {**arrays, "m": np.zeros(2), "v": np.zeros(2), "step": 1, "options": options}


@KATA.observe
def observe(student, parameter, gradient, m, v, step, options):
    """The three results by name."""
    return named(student.adamw_step(parameter, gradient, m, v, step, **options))


def named(answer):
    """The three results by name; what is no triple as it came."""
    if isinstance(answer, tuple | list) and len(answer) == 3:
        return dict(zip(("parameter", "m", "v"), answer, strict=True))
    return {"result": answer}


def updated(student, *arguments, **options):
    """The new (parameter, m, v), once they are three arrays of the parameter's shape."""
    answer = student.adamw_step(*arguments, **options)
    triple = isinstance(answer, tuple | list) and len(answer) == 3
    expect.true(triple, "The result must be the tuple (parameter, m, v).")
    due = arguments[0].shape
    shapes = [getattr(part, "shape", None) for part in answer]
    expect.true(shapes == [due] * 3, f"Each result must have the shape {due}; they came with {shapes}.")
    return answer


@KATA.law(points=0.5)
def test_decay_alone_shrinks(student, parameter, step, options):
    """Without gradient and state the parameter shrinks by the factor 1 - lr * weight_decay."""
    zeros = np.zeros_like(parameter)
    new, _, _ = updated(student, parameter, zeros, zeros, zeros, step, **options)
    factor = 1 - options["lr"] * options["weight_decay"]
    expect.close(new, factor * parameter, f"the new parameter, against {factor:g} times the old,", terms=4)


@KATA.law(points=0.5)
def test_decay_takes_a_share_of_the_old_parameter(student, parameter, gradient, m, v, step, options):
    """With and without decay the results differ by lr * weight_decay * the old parameter."""
    new, _, _ = updated(student, parameter, gradient, m, v, step, **options)
    free, _, _ = updated(student, parameter, gradient, m, v, step, **{**options, "weight_decay": 0.0})
    decay = options["lr"] * options["weight_decay"] * parameter
    what = "the new parameter, against the one without decay minus lr * weight_decay * the old parameter,"
    expect.close(new, free - decay, what, terms=4, roundings=2)


def first_steps(draw):
    """A fresh state, gradients far above eps, and how many steps are taken with them."""
    shape, dtype = draw(st.shapes(2, longest=3)), draw(st.float_dtypes())
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    size, sign = rng.integers(1, 40, shape) / 4, rng.choice([-1.0, 1.0], shape)
    return {
        "parameter": draw(st.arrays(shape, dtype)),
        "gradient": (size * sign).astype(dtype),
        "lr": draw(st.sampled_from([0.1, 0.5])),
        "betas": draw(st.sampled_from([(0.9, 0.999), (0.5, 0.75), (0.75, 0.9)])),
        "steps": draw(st.integers(2, 4)),
    }


@KATA.law(points=0.5, cases=first_steps)
def test_first_step_has_the_length_of_the_rate(student, parameter, gradient, lr, betas):
    """The first step moves each entry by lr against the sign of its gradient."""
    zeros = np.zeros_like(parameter)
    new, _, _ = updated(student, parameter, gradient, zeros, zeros, 1, lr=lr, betas=betas, weight_decay=0.0)
    what = f"the parameter after the first step at lr={lr:g} without decay"
    expect.close(new, parameter - parameter.dtype.type(lr) * np.sign(gradient), what, terms=4, roundings=2)


@KATA.law(points=0.5, cases=first_steps)
def test_equal_gradients_make_equal_steps(student, parameter, gradient, lr, betas, steps):
    """One gradient over and over moves the parameter by lr at each step."""
    new, m, v = parameter, np.zeros_like(parameter), np.zeros_like(parameter)
    for step in range(1, steps + 1):
        new, m, v = updated(student, new, gradient, m, v, step, lr=lr, betas=betas, weight_decay=0.0)
    due = parameter - parameter.dtype.type(steps * lr) * np.sign(gradient)
    what = (
        f"the parameter after {steps} steps with one gradient at lr={lr:g}, each fed with the state before,"
    )
    expect.close(new, due, what, terms=4, roundings=2 * steps)


def scaled_steps(draw):
    return {**cases(draw, kinds=["plain"]), "factor": draw(st.sampled_from([4.0, 0.25, 16.0]))}


@KATA.law(points=0.5, cases=scaled_steps)
def test_size_of_the_gradients_does_not_matter(student, parameter, gradient, m, v, step, options, factor):
    """Gradient, m and eps times c, and v times c squared, give the same step."""
    before, _, _ = updated(student, parameter, gradient, m, v, step, **options)
    c = parameter.dtype.type(factor)
    options = {**options, "eps": factor * options["eps"]}
    after, _, _ = updated(student, parameter, c * gradient, c * m, c * c * v, step, **options)
    expect.close(after, before, f"the new parameter for c = {factor:g}", terms=4, roundings=4)


@KATA.law(points=0.5)
def test_printed_figures(student):
    """The two printed steps come out as printed, the second made from what the first returned."""
    one, zero = np.array([1.0]), np.array([0.0])
    first = updated(student, one, one / 2, zero, zero, 1, lr=0.1)
    expect.decimals(np.concatenate(first), np.array([0.899, 0.05, 0.00025]), 7, "step 1, parameter, m and v,")
    second = updated(student, first[0], -one / 4, first[1], first[2], 2, lr=0.1)
    expect.decimals(second[0], np.array([0.8715]), 4, "the parameter after step 2")
    expect.decimals(np.concatenate(second[1:]), np.array([0.02, 0.00031225]), 8, "m and v after step 2")
