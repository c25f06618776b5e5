"""label_smoothing: its cases and its laws.

Losses made of logits on a level of 800 are rounded there; `ROUNDINGS` leaves room for that.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8
TARGET_DTYPES = ("int64", "int32", "uint8", "int8", "int64")
LEVELS = {"float32": 200, "float64": 800}  # exp over- or underflows there
KINDS = (*["plain"] * 6, "full", "extreme", "extreme", "other index", "token index", "token index")

KATA = Kata(
    "label_smoothing",
    track="training",
    entry_points=("label_smoothing_loss",),
    title="Never quite sure",
    source="Vaswani et al. 2017, section 5.4; Szegedy et al. 2016, section 7",
    axes={"logits": "batch tokens vocab", "targets": "batch tokens"},
    hints=(
        "Take the example and write the four probabilities of the smoothed target under the logits. Do they "
        "add up to one, and what does the target itself get?",
        "The loss is linear in the smoothed target, so it is a mixture: the loss of the target, and the mean "
        "of the losses of all V tokens. Which positions may take part in each of the two?",
        "Keep the positions whose target counts: [N, V] and [N]. Subtract each row's maximum; the log of the "
        "sum of its exps minus the row gives the loss of every token, [N, V]. Pick those of the targets and "
        "average them; average all of them; mix the two with 1 - smoothing and smoothing. Refuse a "
        "smoothing outside of [0, 1] first.",
    ),
    hint_for={
        "shares_among_the_others": 1,
        "leaves_out_the_share_of_the_target": 1,
        "spreads_over_ignored_positions": 2,
        "adds_up_ignored_positions": 2,
    },
    roundings=ROUNDINGS,
    bank_size=40,
)


def draw_targets(draw, rng, logits, kind):
    """Targets of any integer dtype, some of them ignored but never all, and the ignore_index. One that counts
    is the least likely token of its position, so that no loss is nearly zero. 256 would be 0 in uint8."""
    (batch, tokens, vocab), dtype = logits.shape, draw(st.sampled_from(TARGET_DTYPES))
    legal = {"token index": [0, vocab - 1], "other index": [-1, vocab]}.get(kind, [-100])
    ignore_index = draw(st.sampled_from(legal))
    if dtype == "uint8" and ignore_index < 0:
        dtype, ignore_index = ("uint8", 256) if kind == "other index" else ("int32", ignore_index)
    targets = rng.integers(0, vocab, (batch, tokens))
    targets[rng.random((batch, tokens)) < draw(st.sampled_from([0.5, 0.25, 0.0]))] = ignore_index
    at = tuple(rng.integers(0, (batch, tokens)))
    target = int(rng.choice([token for token in range(vocab) if token != ignore_index]))
    lowest = logits[at].argmin()
    logits[at][[target, lowest]] = logits[at][[lowest, target]]
    targets[at] = target
    return targets.astype(dtype), ignore_index


def loss_case(draw, kind):
    """Arguments of one call; the kind says what is special about it."""
    shape = (draw(st.sampled_from([2, 1, 3])), draw(st.sampled_from([2, 3, 1])), draw(st.integers(2, 5)))
    dtype, rng = draw(st.float_dtypes()), np.random.default_rng(draw(st.integers(0, 2**16)))
    scale = draw(st.sampled_from([1.0, 400.0])) if kind == "extreme" else draw(st.sampled_from([1.0, 3.0]))
    logits = np.clip(np.round(rng.standard_normal(shape) * scale, 1) + 0.0, *EXTREMES[kind])
    if kind == "extreme":
        logits += rng.choice([-LEVELS[dtype], LEVELS[dtype]], (*shape[:2], 1))
    targets, ignore_index = draw_targets(draw, rng, logits, kind)
    return {
        "logits": draw(st.permuted(st.just(logits.astype(dtype)))),
        "targets": draw(st.permuted(st.just(targets))),
        "smoothing": 1.0 if kind == "full" else draw(st.sampled_from([0.1, 0.3, 0.5, 0.8, 0.0])),
        "ignore_index": ignore_index,
    }


EXTREMES = {kind: (-2000, 2000) if kind == "extreme" else (-9, 9) for kind in KINDS}


@KATA.cases
def cases(draw):
    return loss_case(draw, draw(st.sampled_from(KINDS)))


@KATA.corner(points=0.5)
def extreme_logits(logits):
    """Logits in the hundreds have their loss."""
    return bool(np.abs(logits).max() > 15)


@KATA.corner(points=0.5)
def ignored_token(logits, ignore_index):
    """An ignored token still has its share as a class of other positions."""
    return 0 <= ignore_index < logits.shape[-1]


@KATA.corner(points=0.5)
def another_ignore_index(ignore_index):
    """Any ignore_index is the one ignored."""
    return ignore_index != -100


@KATA.corner(points=0.5)
def smoothing_of_1(smoothing):
    """A smoothing of 1 is a smoothing like any other."""
    return smoothing == 1


def printed(smoothing):
    """The example of the statement."""
    logits = np.array([[[2.0, 0.0, 0.0, 0.0], [5.0, 5.0, 5.0, 5.0]]])
    return {"logits": logits, "targets": np.array([[0, -100]]), "smoothing": smoothing, "ignore_index": -100}


@KATA.example
def an_index_that_no_target_can_be():
    """In uint8 256 would be 0, which is a token."""
    logits = np.array([[[1.0, 0.0, -1.0], [0.5, -1.0, 0.0]]], dtype=np.float32)
    targets = np.array([[0, 2]], dtype=np.uint8)
    return {"logits": logits, "targets": targets, "smoothing": 0.25, "ignore_index": 256}


@KATA.example
def printed_with_smoothing():
    return printed(0.1)


@KATA.example
def printed_without_smoothing():
    return printed(0.0)


@KATA.example
def an_ignored_position_that_is_dear():
    """The position that does not count would cost far more than the one that does."""
    logits = np.array([[[1.0, 0.0, -1.0], [9.0, -9.0, 0.0]]], dtype=np.float32)
    return {"logits": logits, "targets": np.array([[2, -100]]), "smoothing": 0.5, "ignore_index": -100}


@KATA.example
def sequences_of_different_lengths():
    logits = np.array([[[0.0, 1.0, 3.0], [2.0, 0.0, 1.0]], [[0.0, 3.0, 0.0], [1.0, 1.0, 4.0]]])
    targets = np.array([[0, 1], [0, -100]])
    return {"logits": logits, "targets": targets, "smoothing": 0.3, "ignore_index": -100}


@KATA.example
def a_token_that_is_ignored_and_unlikely():
    """Token 0 is padding, far below the others, and has its share where another token is the target."""
    logits = np.array([[[-8.0, 1.0, 0.0], [3.0, 0.0, 0.0]]])
    return {"logits": logits, "targets": np.array([[1, 0]]), "smoothing": 0.3, "ignore_index": 0}


@KATA.example
def targets_that_are_impossible():
    """The gap of a million is the loss."""
    logits = np.array([[[1e6, 0.0, 0.0]], [[0.0, -1e6, 1e6]]])
    targets = np.array([[1], [0]])
    return {"logits": logits, "targets": targets, "smoothing": 0.0, "ignore_index": -100}


@KATA.example
def ignored_by_another_number():
    logits = np.array([[[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]])
    return {"logits": logits, "targets": np.array([[0, -1]]), "smoothing": 0.1, "ignore_index": -1}


@KATA.example
def spread_in_full():
    """Every token has 1 / V, the target too."""
    logits = np.array([[[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]]], dtype=np.float32)
    return {"logits": logits, "targets": np.array([[1, -100]]), "smoothing": 1.0, "ignore_index": -100}


@KATA.example
def targets_that_are_nearly_impossible():
    logits = np.array([[[1000.0, 0.0]], [[-1000.0, 1000.0]]])
    targets = np.array([[1], [0]], dtype=np.int32)
    return {"logits": logits, "targets": targets, "smoothing": 0.1, "ignore_index": -100}


@KATA.example
def more_logits_than_a_small_integer_counts():
    """The places of the targets among all logits must not be computed in the dtype of the targets."""
    logits = 4 * np.sin(np.arange(200, dtype=np.float32)).reshape(2, 25, 4)
    targets = (np.arange(50, dtype=np.int8) % 4).reshape(2, 25)
    return {"logits": logits, "targets": targets, "smoothing": 0.1, "ignore_index": -100}


@KATA.observe
def observe(student, logits, targets, smoothing, ignore_index):
    """What has its default value is left out, so that the defaults are judged too."""
    given = {} if smoothing == 0.1 else {"smoothing": smoothing}
    given |= {} if ignore_index == -100 else {"ignore_index": ignore_index}
    return {"result": student.label_smoothing_loss(logits, targets, **given)}


def loss(student, logits, targets, smoothing, ignore_index):
    """What label_smoothing_loss returns, once it is one number."""
    result = student.label_smoothing_loss(logits, targets, smoothing=smoothing, ignore_index=ignore_index)
    number = isinstance(result, float) or getattr(result, "shape", None) == ()
    expect.true(number, "The result must be one number, the average over all targets that count.")
    return result


def token_losses(logits):
    """The loss that each token would have as the target, in float64, [..., V]."""
    exact = logits.astype(np.float64)
    return np.log(np.exp(exact).sum(axis=-1, keepdims=True)) - exact


@KATA.law(points=0.5)
def test_no_smoothing_is_cross_entropy(student, logits, targets, ignore_index):
    """With a smoothing of 0 the loss is the mean loss of the targets that count."""
    counted = targets != ignore_index
    losses = token_losses(logits)[counted]
    expected = losses[np.arange(len(losses)), targets[counted]].mean()
    result = loss(student, logits, targets, 0.0, ignore_index)
    expect.close(result, expected, "the loss for smoothing=0", terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_full_smoothing_ignores_the_targets(student, logits, targets, ignore_index):
    """With a smoothing of 1 the loss is the mean loss of all tokens, whatever the targets."""
    expected = token_losses(logits)[targets != ignore_index].mean()
    result = loss(student, logits, targets, 1.0, ignore_index)
    expect.close(result, expected, "the loss for smoothing=1", terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_loss_is_linear_in_smoothing(student, logits, targets, smoothing, ignore_index):
    """The loss is the mixture of the losses for smoothing 0 and 1."""
    none, half, full = (loss(student, logits, targets, part, ignore_index) for part in (0.0, 0.5, 1.0))
    expect.close(
        half, (none + full) / 2, "the loss for smoothing=0.5, against the mean of those for 0 and 1,", terms=8
    )
    expected = (1 - smoothing) * none + smoothing * full
    result = loss(student, logits, targets, smoothing, ignore_index)
    what = f"the loss for smoothing={smoothing}, against the mixture of those for 0 and 1,"
    expect.close(result, expected, what, terms=8, roundings=ROUNDINGS)


def levelled_cases(draw):
    """Plain logits, and a level for each position to be added to them."""
    case = loss_case(draw, "plain")
    shape, level = (*case["targets"].shape, 1), LEVELS[case["logits"].dtype.name]
    drawn = st.lists(
        st.sampled_from([0, -level, level]), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]
    )
    return {**case, "levels": np.array(draw(drawn), dtype=case["logits"].dtype).reshape(shape)}


@KATA.law(points=0.5, cases=levelled_cases)
def test_only_differences_count(student, logits, targets, smoothing, levels):
    """Adding one number to all logits of a position changes nothing."""
    near, far = (loss(student, rows, targets, smoothing, -100) for rows in (logits, logits + levels))
    what = f"the loss after {levels.ravel().tolist()} were added to the positions' logits"
    expect.close(far, near, what, terms=64, roundings=64)


def smoothed_targets(draw):
    """Targets that all count, and a smoothing inside of (0, 1)."""
    case = loss_case(draw, "plain")
    targets = np.maximum(case["targets"].astype(np.int64), 0)
    return {"logits": case["logits"], "targets": targets, "smoothing": case["smoothing"] or 0.2}


@KATA.law(points=0.5, cases=smoothed_targets)
def test_least_loss_is_the_entropy(student, logits, targets, smoothing):
    """The smallest loss is the entropy of the smoothed target, and its logarithm as logits has that loss."""
    vocab = logits.shape[-1]
    smoothed = (1 - smoothing) * np.eye(vocab)[targets] + smoothing / vocab
    entropy = -(smoothed * np.log(smoothed)).sum(axis=-1).mean()
    best = loss(student, np.log(smoothed).astype(logits.dtype), targets, smoothing, -100)
    expect.close(
        best, entropy, "the loss of the logarithm of the smoothed target", terms=8, roundings=ROUNDINGS
    )
    other = loss(student, logits, targets, smoothing, -100)
    expect.true(
        other >= entropy * (1 - 1e-4),
        f"No logits have less than the entropy of the smoothed target, {entropy:.6g}; this is {other:.6g}.",
    )


def smoothings_to_refuse(draw):
    """A smoothing outside of [0, 1]."""
    return {**printed(0.0), "smoothing": draw(st.sampled_from([-0.1, 1.5, -1.0, 1.01, 2.0, 10.0]))}


@KATA.law(points=0.5, cases=smoothings_to_refuse)
def test_refuses_other_smoothings(student, logits, targets, smoothing):
    """A smoothing below 0 or above 1 raises a ValueError."""
    why = f"smoothing={smoothing} is no share"
    expect.refuses(student.label_smoothing_loss, logits, targets, smoothing=smoothing, why=why)
