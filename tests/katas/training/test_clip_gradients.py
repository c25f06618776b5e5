"""clip_gradients: its cases and its laws.

Gradients are float32 in the cases, so that float64's digits are not asked for: PyTorch's 1e-6 beside the norm
is as good. A law of its own passes float64.
"""

import math

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 2
SHAPES = [(3,), (2, 3), (2,), (1, 2), (2, 1, 2), (1,)]

KATA = Kata(
    "clip_gradients",
    track="training",
    entry_points=("clip_gradients",),
    title="One norm for all gradients",
    source="Pascanu, Mikolov and Bengio 2013, section 3.2 and algorithm 1",
    roundings=ROUNDINGS,
    bank_size=32,
    hints=(
        "Think of all entries of all arrays as one long vector. Which single number do the arrays have to "
        "share, before the first of them is scaled?",
        "Add up the squares of each array that is there, and take one root at the end. When is there nothing "
        "to scale, and which two cases must be refused before any scaling?",
        "Refuse max_norm <= 0. Sum the squares of all arrays that are not None; the norm is the root of the "
        "sum. Refuse it where it is not finite. Up to max_norm return the arrays as they came; above it "
        "multiply each by the Python float max_norm / norm, so that float32 stays float32. Keep None where "
        "it was, and return the norm of what came in.",
    ),
    hint_for={
        "clips_each_array_by_itself": 1,
        "adds_the_norms_up": 2,
        "takes_the_largest_of_the_norms": 2,
        "fails_without_arrays": 2,
        "goes_on_with_a_bad_norm": 2,
    },
)


def norm_of(gradients):
    """The Euclidean norm of all entries, in float64."""
    present = [g for g in gradients if g is not None]
    return math.sqrt(sum(float((np.asarray(g, np.float64) ** 2).sum()) for g in present))


def draw_gradients(draw, shapes=SHAPES, fewest=1, sparse=True):
    """Arrays of several shapes and one scale, some places None."""
    scale = draw(st.sampled_from([1.0, 4.0, 0.1, 300.0, 1e10]))
    gradients = []
    for _ in range(draw(st.integers(fewest, 4))):
        array = np.asarray(draw(st.arrays(draw(st.sampled_from(shapes)), "float32", scale)))
        array = draw(st.permuted(st.just(array))) if array.ndim else array
        gradients.append(None if sparse and draw(st.sampled_from([False, False, True])) else array)
    return gradients


def draw_max_norm(draw, gradients):
    """A bound that is clearly above the norm or clearly below it; a norm that is clipped is at least 1."""
    norm = norm_of(gradients)
    if norm > 1 and draw(st.sampled_from([True, True, False])):
        return max(round(norm * draw(st.sampled_from([0.5, 0.1, 0.9, 0.01])), 1), 0.1)
    return max(math.ceil(norm * draw(st.sampled_from([1.5, 3.0]))), 1.0)


@KATA.cases
def cases(draw):
    """Norms on both sides of the bound; now and then no gradient at all, or numbers without an axis."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "numbers", "nothing"]))
    gradients = draw_gradients(draw, [(), (), (2,)] if kind == "numbers" else SHAPES)
    if kind == "nothing":
        zeros = [None if g is None else 0 * g for g in gradients]
        gradients = draw(st.sampled_from([[None] * len(gradients), zeros, []]))
    return {"gradients": gradients, "max_norm": draw_max_norm(draw, gradients)}


@KATA.corner(points=0.5)
def nothing_to_clip(gradients):
    """Where there are no gradients, or only zeros, the norm is 0 and all comes back."""
    return norm_of(gradients) == 0


@KATA.corner(points=0.5)
def arrays_without_an_axis(gradients):
    """A gradient that is a single number takes part like any other."""
    return any(g is not None and g.ndim == 0 for g in gradients)


def float32(*arrays):
    return [None if array is None else np.array(array, dtype=np.float32) for array in arrays]


@KATA.example
def printed_gradients():
    return {"gradients": float32([3.0], None, [4.0]), "max_norm": 1.0}


@KATA.example
def printed_gradients_below_the_bound():
    return {"gradients": float32([3.0], None, [4.0]), "max_norm": 10.0}


@KATA.example
def one_array_above_the_bound_and_one_below():
    return {"gradients": float32([[3.0, 0.0], [0.0, 4.0]], [0.25, -0.5]), "max_norm": 2.0}


@KATA.example
def each_below_the_bound_and_together_above():
    return {"gradients": float32([1.5, 0.0], None, [[1.5], [1.5]], [-1.5]), "max_norm": 2.0}


@KATA.example
def entries_above_the_bound_one_by_one():
    return {"gradients": float32(None, [[6.0, -8.0, 0.5], [1.0, 2.0, -3.0]], [5.0]), "max_norm": 4.0}


@KATA.example
def a_norm_below_one():
    """Its square is smaller still, and the sum of the sizes is above the bound."""
    return {"gradients": float32([0.5, -0.5], [0.25, 0.25]), "max_norm": 1.0}


@KATA.example
def only_none():
    return {"gradients": [None, None], "max_norm": 1.0}


@KATA.example
def an_empty_list():
    return {"gradients": [], "max_norm": 2.0}


@KATA.example
def only_zeros():
    return {"gradients": float32([0.0, 0.0], None), "max_norm": 0.5}


@KATA.example
def an_array_without_entries():
    return {"gradients": [np.zeros((0, 3), np.float32), *float32([3.0, 4.0])], "max_norm": 2.5}


@KATA.example
def single_numbers():
    return {"gradients": float32(3.0, [0.0, 4.0], None), "max_norm": 2.5}


@KATA.observe
def observe(student, gradients, max_norm):
    """The list and the norm by name."""
    answer = student.clip_gradients(gradients, max_norm)
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return {"clipped": answer[0], "norm": answer[1]}
    return {"result": answer}


def clip(student, gradients, max_norm):
    """The clipped list and the norm, once the list has arrays and None where they are due."""
    answer = student.clip_gradients(gradients, max_norm)
    pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect.true(pair, "The result must be the tuple (clipped, norm).")
    clipped, norm = answer
    due, shapes = shapes_of(gradients), shapes_of(clipped)
    expect.true(shapes == due, f"The shapes in the list must be {due}; they came as {shapes}.")
    number = isinstance(norm, float | int | np.generic) or getattr(norm, "shape", None) == ()
    expect.true(number, "The norm must be a number.")
    return clipped, norm


def shapes_of(arrays):
    """The shape of each array in a list, and None for None."""
    if not isinstance(arrays, list | tuple):
        return type(arrays).__name__
    return [
        None if a is None else getattr(a, "shape", () if isinstance(a, float) else "no array") for a in arrays
    ]


def entries(arrays):
    """All entries of all arrays as one float32 vector."""
    flat = [np.ravel(array) for array in arrays if array is not None]
    return np.concatenate(flat).astype(np.float32) if flat else np.zeros(0, np.float32)


def due_entries(gradients, max_norm):
    """All entries as they must come back."""
    factor = min(1.0, max_norm / (norm_of(gradients) or math.inf))
    return (factor * entries(gradients).astype(np.float64)).astype(np.float32)


@KATA.law(points=1)
def test_result_has_the_smaller_norm(student, gradients, max_norm):
    """The norm of the result is the smaller of the norm and max_norm, and all entries share one factor."""
    clipped, _ = clip(student, gradients, max_norm)
    due, what = min(norm_of(gradients), max_norm), "the norm of all clipped arrays together"
    expect.close(np.float32(norm_of(clipped)), due, what, terms=8, roundings=ROUNDINGS)
    what = f"the list of all entries, against {due / (norm_of(gradients) or 1):.6g} times those given,"
    expect.close(entries(clipped), due_entries(gradients, max_norm), what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_cutting_an_array_changes_nothing(student, gradients, max_norm):
    """The rows of each array, given as arrays of their own, shrink by the factor of the whole."""
    cut = [row for array in gradients for row in ([None] if array is None else list(array[:, None]))]
    pieces, norm = clip(student, cut, max_norm)
    expect.close(norm, norm_of(gradients), "the norm", terms=8, roundings=ROUNDINGS, dtype="float32")
    due, what = due_entries(gradients, max_norm), "the list of all entries"
    expect.close(entries(pieces), due, what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_clipping_again_changes_nothing(student, gradients, max_norm):
    """What has been clipped is not clipped further, and has the smaller norm."""
    once, _ = clip(student, gradients, max_norm)
    twice, norm = clip(student, once, max_norm)
    expect.close(entries(twice), entries(once), "the entries clipped twice", terms=8, roundings=ROUNDINGS)
    due, what = min(norm_of(gradients), max_norm), "the norm returned by the second call"
    expect.close(norm, due, what, terms=8, roundings=ROUNDINGS, dtype="float32")


@KATA.law(points=0.5)
def test_norm_is_that_of_what_came(student, gradients, max_norm):
    """Four times the gradients have four times the norm, and the same result where both exceed max_norm."""
    fours = [None if array is None else array * np.float32(4) for array in gradients]
    once, norm = clip(student, gradients, max_norm)
    again, larger = clip(student, fours, max_norm)
    what = "the norm of four times the gradients"
    expect.close(larger, 4 * float(norm), what, terms=8, roundings=ROUNDINGS, dtype="float32")
    if norm_of(gradients) > max_norm:
        what = "the list of all entries of four times the gradients, clipped,"
        expect.close(entries(again), entries(once), what, terms=8, roundings=ROUNDINGS)


def short_gradients(draw):
    """Gradients below the bound; a zero has a sign."""
    gradients = [*draw_gradients(draw), np.array([-0.0, 0.0], np.float32)]
    return {"gradients": gradients, "max_norm": float(math.ceil(2 * norm_of(gradients) + 1))}


@KATA.law(points=0.5, cases=short_gradients)
def test_short_gradients_stay_to_the_bit(student, gradients, max_norm):
    """Up to max_norm every array comes back as it was, to the bit."""
    clipped, _ = clip(student, gradients, max_norm)
    expect.equal(list(clipped), gradients, "the list of clipped arrays")
    signs = [[None if g is None else np.signbit(g) for g in given] for given in (clipped, gradients)]
    expect.equal(*signs, "the list of the signs of all entries, of zeros too,")


def float64_gradients(draw):
    case = short_gradients(draw)
    gradients = [None if g is None else np.ascontiguousarray(g, np.float64) for g in case["gradients"]]
    above = norm_of(gradients) > 1 and draw(st.booleans())
    return {"gradients": gradients, "max_norm": norm_of(gradients) / 2 if above else case["max_norm"]}


@KATA.law(points=0.5, cases=float64_gradients)
def test_float64_stays_float64(student, gradients, max_norm):
    """Arrays of float64 come back as float64."""
    clipped, _ = clip(student, gradients, max_norm)
    dtypes = [str(array.dtype) for array in clipped if array is not None]
    expect.true(set(dtypes) <= {"float64"}, f"The arrays are float64; they came back as {dtypes}.")
    what = "the list of all entries"
    expect.close(entries(clipped), due_entries(gradients, max_norm), what, terms=8, roundings=ROUNDINGS)


def spoilt_gradients(draw):
    """Several arrays, one entry of which is NaN or infinite."""
    gradients = draw_gradients(draw, fewest=2, sparse=False)
    spoilt = draw(st.integers(0, len(gradients) - 1))
    gradients[spoilt] = gradients[spoilt].copy()
    gradients[spoilt].flat[-1] = draw(st.sampled_from([math.nan, math.inf, -math.inf]))
    return {"gradients": [*gradients, None], "max_norm": draw(st.sampled_from([1.0, 1e12]))}


@KATA.law(points=0.5, cases=spoilt_gradients)
def test_refuses_what_has_no_factor(student, gradients, max_norm):
    """A norm that is not finite raises a ValueError, and so does a max_norm of 0 or below."""
    expect.refuses(student.clip_gradients, gradients, max_norm, why="the norm is not finite")
    sound = [None if g is None else np.ones_like(g) for g in gradients]
    zeros = [None if g is None else np.zeros_like(g) for g in gradients]
    for bound in (0.0, -max_norm):
        for given in (sound, zeros, [None]):
            expect.refuses(student.clip_gradients, given, bound, why=f"max_norm is {bound}")
