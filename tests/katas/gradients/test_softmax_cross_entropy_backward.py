"""softmax_cross_entropy_backward: its cases and its laws.

One target that counts is the least likely token of its position, so that no gradient is nearly zero. Central
differences are computed in float64, with the loss of the statement.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
TARGET_DTYPES = ("int64", "int32", "uint8", "int8", "int16", "int64")
LEVELS = {"float32": (0, 0, 200, -200), "float64": (0, 0, 800, -800)}  # exp over- or underflows there

KATA = Kata(
    "softmax_cross_entropy_backward",
    track="gradients",
    entry_points=("softmax_cross_entropy_backward",),
    title="Where every backward pass begins",
    source="Bridle 1990; Goodfellow, Bengio and Courville 2016, section 6.2.2.3",
    axes={"logits": "batch tokens vocab", "targets": "batch tokens", "result": "batch tokens vocab"},
    hints=(
        "Take one position of three logits and change one of them a little, first the target's and then "
        "another. Which of the two terms of the loss changes, which way, and by how much?",
        "The first term gives every logit its probability. The second gives the target alone a 1, which is "
        "taken away. Both are [B, T, V]. The average then gives each position the same weight: which weight, "
        "and which positions have none?",
        "Compute stable probabilities along the last axis [B, T, V]. Compare targets, with an axis added at "
        "the end, to the numbers 0 to V - 1: that is 1 at each target, and nowhere for a target that is no "
        "token. The difference of the two is wanted. Set it to 0 at ignored positions, since their target "
        "may be a token, and divide by the number of positions that are left, as a Python number.",
    ),
    hint_for={
        "forgets_to_subtract_one": 1,
        "turns_the_sign_round": 1,
        "divides_by_all_positions": 2,
        "leaves_a_gradient_at_ignored_positions": 3,
    },
    roundings=ROUNDINGS,
    bank_size=48,
)


def draw_targets(draw, rng, logits, dtypes=TARGET_DTYPES):
    """Targets of any integer dtype, some ignored but never all, and the ignore_index, which is a token or
    none; 256 would be 0 in uint8."""
    (batch, tokens, vocab), dtype = logits.shape, draw(st.sampled_from(dtypes))
    legal = [0, vocab - 1, vocab, 256] if dtype == "uint8" else [-100, -100, -100, 0, vocab - 1, -1, vocab]
    ignore_index = draw(st.sampled_from(legal))
    targets = rng.integers(0, vocab, (batch, tokens))
    share = draw(st.sampled_from([0.5, 0.25, 0.0]))
    targets[rng.random((batch, tokens)) < share] = ignore_index
    at = tuple(rng.integers(0, (batch, tokens)))
    target = int(rng.choice([token for token in range(vocab) if token != ignore_index]))
    lowest = logits[at].argmin()
    logits[at][[target, lowest]] = logits[at][[lowest, target]]
    targets[at] = target
    return targets.astype(dtype), ignore_index


def loss_case(draw, levels=LEVELS, scales=(1.0, 1.0, 1.0, 400.0)):
    """Arguments of one call. No two entries of its shape need be different: batch, tokens, vocabulary."""
    shape = (draw(st.sampled_from([2, 1, 3])), draw(st.sampled_from([4, 2, 1, 3])), draw(st.integers(2, 5)))
    dtype, rng = draw(st.float_dtypes()), np.random.default_rng(draw(st.integers(0, 2**16)))
    logits = np.round(rng.standard_normal(shape) * draw(st.sampled_from(scales)), 1) + 0.0
    if draw(st.sampled_from([False, False, True])):
        logits += rng.choice(levels[dtype], (*shape[:2], 1))
    targets, ignore_index = draw_targets(draw, rng, logits)
    return {
        "logits": draw(st.permuted(st.just(logits.astype(dtype)))),
        "targets": draw(st.permuted(st.just(targets))),
        "ignore_index": ignore_index,
    }


def moderate_cases(draw):
    return loss_case(draw, levels={"float32": (0, 1), "float64": (0, 1)}, scales=(1.0, 2.0))


@KATA.cases
def cases(draw):
    return loss_case(draw)


@KATA.corner(points=0.5)
def extreme_logits(logits):
    """Logits in the hundreds have the gradient of their differences, without NaN."""
    return bool(np.abs(logits).max() > 15)


@KATA.corner(points=0.5)
def another_ignore_index(ignore_index):
    """Any ignore_index is the one ignored, a token's id too."""
    return ignore_index != -100


@KATA.example
def worked_example():
    logits = np.array([[[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [5.0, 5.0, 9.0]]])
    return {"logits": logits, "targets": np.array([[0, 2, -100]]), "ignore_index": -100}


@KATA.example
def sequences_of_different_lengths():
    logits = np.array([[[0.0, 1.0], [2.0, 0.0]], [[0.0, 3.0], [1.0, 1.0]]], dtype=np.float32)
    return {"logits": logits, "targets": np.array([[0, 1], [0, -100]]), "ignore_index": -100}


@KATA.example
def targets_that_are_nearly_impossible():
    logits = np.array([[[1000.0, 0.0]], [[-1000.0, 1000.0]]])
    return {"logits": logits, "targets": np.array([[1], [0]], dtype=np.int32), "ignore_index": -100}


@KATA.example
def more_logits_than_a_small_integer_counts():
    """The places of the targets among all logits must not be computed in the dtype of the targets."""
    logits = 4 * np.sin(np.arange(200, dtype=np.float32)).reshape(2, 25, 4)
    targets = (np.arange(50, dtype=np.int8) % 4).reshape(2, 25)
    return {"logits": logits, "targets": targets, "ignore_index": -100}


@KATA.observe
def observe(student, logits, targets, ignore_index):
    """An ignore_index of -100 is asked for by leaving it out, so that the default is judged too."""
    given = {} if ignore_index == -100 else {"ignore_index": ignore_index}
    return {"result": student.softmax_cross_entropy_backward(logits, targets, **given)}


def gradient(student, logits, targets, ignore_index):
    """What the submission returns, once it is an array like the logits."""
    result = student.softmax_cross_entropy_backward(logits, targets, ignore_index=ignore_index)
    shape = getattr(result, "shape", None)
    due = f"The gradient must have the shape of the logits, {logits.shape}; it came with {shape}."
    expect.true(shape == logits.shape, due)
    return result


def mean_loss(logits, targets, ignore_index):
    """The loss of the statement, in float64."""
    counted = targets != ignore_index
    rows, chosen = logits[counted], targets[counted].astype(int)
    top = rows.max(axis=-1, keepdims=True)
    return (np.log(np.exp(rows - top).sum(-1)) + top[:, 0] - rows[np.arange(len(rows)), chosen]).mean()


@KATA.law(points=1, cases=moderate_cases)
def test_it_is_the_slope_of_the_loss(student, logits, targets, ignore_index):
    """Each entry is how much the loss changes when that logit does (central differences)."""
    step, wide = 1e-4, logits.astype(np.float64)
    slopes = np.empty(logits.shape)
    for at in np.ndindex(logits.shape):
        there, back = wide.copy(), wide.copy()
        there[at] += step
        back[at] -= step
        slopes[at] = mean_loss(there, targets, ignore_index) - mean_loss(back, targets, ignore_index)
    result = gradient(student, logits, targets, ignore_index)
    what = "the gradient, against the change of the loss for a small change of each logit,"
    expect.close(result, (slopes / (2 * step)).astype(logits.dtype), what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_rows_sum_to_zero(student, logits, targets, ignore_index):
    """The gradient of each position sums to 0."""
    sums = gradient(student, logits, targets, ignore_index).sum(axis=-1)
    expect.close(sums, np.zeros_like(sums), "the sum of each position's gradient", terms=8, roundings=8)


def some_ignored(draw):
    case = loss_case(draw)
    ignored = case["targets"].astype(int) == case["ignore_index"]
    extra = np.full((1, ignored.shape[1]), case["ignore_index"]).astype(case["targets"].dtype)
    case["targets"] = np.concatenate([case["targets"], extra])
    case["logits"] = np.concatenate([case["logits"], case["logits"][:1] + 1])
    return case


@KATA.law(points=0.5, cases=some_ignored)
def test_ignored_positions_have_none(student, logits, targets, ignore_index):
    """The gradient is 0 at positions that are ignored."""
    rows = gradient(student, logits, targets, ignore_index)[targets == ignore_index]
    expect.equal(rows, np.zeros_like(rows), "the gradient at the ignored positions")


@KATA.law(points=0.5)
def test_the_target_alone_is_below_zero(student, logits, targets, ignore_index):
    """The entry of the target is at most 0, and every other is at least 0."""
    result = gradient(student, logits, targets, ignore_index)
    is_target = targets[..., None] == np.arange(logits.shape[-1])
    sizes = np.where(is_target, -result, result)
    expect.true(
        bool((sizes >= -1e-6).all()),
        "A step against the gradient must raise the logit of the target and lower the others: the entry of "
        "the target is at most 0, every other at least 0.",
    )


@KATA.law(points=0.5)
def test_the_batch_twice_halves_it(student, logits, targets, ignore_index):
    """With the whole batch given twice, each copy has half of the gradient."""
    once = gradient(student, logits, targets, ignore_index)
    twice = gradient(student, np.concatenate([logits] * 2), np.concatenate([targets] * 2), ignore_index)
    what = "the gradient of the batch given twice, against half of that of the batch,"
    expect.close(twice, np.concatenate([once, once]) / 2, what, terms=8, roundings=ROUNDINGS)
