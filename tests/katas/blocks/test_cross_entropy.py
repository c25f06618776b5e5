"""cross_entropy: its cases and its laws.

log(sum(exp)) put back on a level of 800 is rounded there, and so is the loss made from it. `ROUNDINGS` leaves
room for that, and every case has a loss that is not small beside it.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 16
TARGET_DTYPES = ("int64", "int32", "uint8", "int8", "int16", "int64")
LEVELS = {"float32": (0, 0, 200, -200), "float64": (0, 0, 800, -800)}  # exp over- or underflows there

KATA = Kata(
    "cross_entropy",
    track="blocks",
    entry_points=("cross_entropy",),
    title="How surprised the model is",
    source="Goodfellow, Bengio and Courville 2016, sections 3.13 and 4.1; Vaswani et al. 2017, section 5",
    axes={"logits": "batch tokens vocab", "targets": "batch tokens"},
    hints=(
        "Take one position with two tokens, logits 1000 and 0, target 1. The loss is 1000 by hand. Which "
        "step of yours loses it: the exp, the division, or the logarithm?",
        "Write log(exp(a) / sum) as a difference and subtract each position's own maximum from its logits "
        "first. Decide which positions count before you index with a target, for -100 is an index too.",
        "Mark the targets that differ from ignore_index, and keep those positions: [N, V] and [N]. From each "
        "row subtract its maximum. The loss of a row is the log of its sum of exps, minus its entry at the "
        "target. Average over the N rows.",
    ),
    hint_for={
        "lets_exp_overflow": 1,
        "takes_the_logarithm_of_zero": 1,
        "subtracts_one_maximum_for_all": 2,
        "counts_ignored_positions": 2,
        "divides_by_all_positions": 3,
    },
    roundings=ROUNDINGS,
    bank_size=48,
)


def draw_targets(draw, rng, logits):
    """Targets of any integer dtype, some ignored but never all; one of the others is made the least likely
    token of its position. ignore_index is a token or none; 256 would be 0 in uint8."""
    (batch, tokens, vocab), dtype = logits.shape, draw(st.sampled_from(TARGET_DTYPES))
    legal = [0, vocab - 1, vocab, 256] if dtype == "uint8" else [-100, -100, 0, vocab - 1, -1, vocab]
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


def loss_case(draw, levels=LEVELS, scales=(1.0, 1.0, 3.0, 400.0)):
    """Arguments of one call; at least one target is an unlikely one."""
    shape = (draw(st.sampled_from([2, 1, 3])), draw(st.sampled_from([2, 3, 1])), draw(st.integers(2, 5)))
    dtype, rng = draw(st.float_dtypes()), np.random.default_rng(draw(st.integers(0, 2**16)))
    logits = np.round(rng.standard_normal(shape) * draw(st.sampled_from(scales)), 1) + 0.0
    if draw(st.booleans()):
        logits += rng.choice(levels[dtype], (*shape[:2], 1))
    targets, ignore_index = draw_targets(draw, rng, logits)
    return {
        "logits": draw(st.permuted(st.just(logits.astype(dtype)))),
        "targets": draw(st.permuted(st.just(targets))),
        "ignore_index": ignore_index,
    }


@KATA.cases
def cases(draw):
    return loss_case(draw)


@KATA.corner(points=0.5)
def extreme_logits(logits):
    """Logits in the hundreds and targets of probability 0 in floats have their loss."""
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
    return {"logits": logits, "targets": np.array([[0, 1], [0, -1]]), "ignore_index": -1}


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
    return {"result": student.cross_entropy(logits, targets, **given)}


def loss(student, logits, targets, ignore_index):
    """What cross_entropy returns, once it is one number."""
    result = student.cross_entropy(logits, targets, ignore_index=ignore_index)
    number = isinstance(result, float) or getattr(result, "shape", None) == ()
    expect.true(number, "The result must be one number, the average over all targets that count.")
    return result


@KATA.law(points=1)
def test_ignored_positions_add_nothing(student, logits, targets, ignore_index):
    """Leaving the ignored positions out altogether changes nothing."""
    counted = targets != ignore_index
    alone = loss(student, logits[counted][None], targets[counted][None], ignore_index)
    result = loss(student, logits, targets, ignore_index)
    what = f"the loss, against that of the {counted.sum()} positions alone whose target counts,"
    expect.close(result, alone, what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_alike_logits_cost_log_v(student, logits, targets, ignore_index):
    """Where all V logits of each position are alike, the loss is log V."""
    alike = np.broadcast_to(logits.max(axis=-1, keepdims=True), logits.shape).copy()
    result = loss(student, alike, targets, ignore_index)
    what = f"the loss of logits that are alike for all {logits.shape[-1]} tokens"
    expect.close(result, np.log(logits.shape[-1]), what, terms=8, roundings=ROUNDINGS)


def levelled_cases(draw):
    case = loss_case(draw, levels={"float32": (0,), "float64": (0,)}, scales=(1.0, 3.0))
    shape, legal = (*case["targets"].shape, 1), LEVELS[case["logits"].dtype.name]
    drawn = draw(st.lists(st.sampled_from(legal), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return {**case, "levels": np.array(drawn, dtype=case["logits"].dtype).reshape(shape)}


@KATA.law(points=0.5, cases=levelled_cases)
def test_only_differences_count(student, logits, targets, ignore_index, levels):
    """Adding one number to all logits of a position changes nothing."""
    near, far = (loss(student, rows, targets, ignore_index) for rows in (logits, logits + levels))
    what = f"the loss after {levels.ravel().tolist()} were added to the positions' logits"
    expect.close(far, near, what, terms=64, roundings=64)


def far_behind(draw):
    """One target, whose logit is far below another token's."""
    gap, vocab = draw(st.sampled_from([1000.0, 128.0, 30.0, 1e5])), draw(st.integers(2, 4))
    dtype = draw(st.float_dtypes())
    target = draw(st.integers(0, vocab - 1))
    logits = np.full((1, 1, vocab), -gap if draw(st.booleans()) else 0.0, dtype=dtype)
    logits[0, 0, (target + 1) % vocab] += gap
    return {"logits": logits, "target": target, "gap": gap}


@KATA.law(points=1, cases=far_behind)
def test_unlikely_target_costs_the_gap(student, logits, target, gap):
    """A target far below the favourite costs the gap between their logits."""
    result = loss(student, logits, np.array([[target]]), -100)
    expect.close(result, gap, f"the loss of a target {gap:g} below the favourite", terms=8, roundings=16)
