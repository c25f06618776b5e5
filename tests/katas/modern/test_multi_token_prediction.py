"""multi_token_prediction: its cases and its laws.

What a law expects is computed here, position by position.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8
KINDS = (*["plain"] * 5, "extreme", "extreme", "other index", "other index", "short")

KATA = Kata(
    "multi_token_prediction",
    track="modern",
    entry_points=("multi_token_targets", "multi_token_loss"),
    title="Several tokens ahead",
    source="Gloeckle et al. 2024; DeepSeek-AI 2024",
    axes={"logits": "heads batch tokens vocab", "targets": "batch tokens"},
    hints=(
        "Write the targets of one row of four tokens for three heads, below each other. How many positions "
        "of each head have no target, and at which end of the row do they stand?",
        "Head h at position t has the target of position t + h:\n\n"
        "    targets    11   12   13   14\n"
        "    head 0     11   12   13   14\n"
        "    head 1     12   13   14 -100\n"
        "    head 2     13   14 -100 -100\n\n"
        "Each head then has a cross-entropy like any other, averaged over its own targets that count. Why "
        "may the sum of a head not be divided by B times T? What is the index that picks a logit where the "
        "target is -100?",
        "Targets: an int64 array [n, B, T] full of ignore_index; into each head's first T - h columns go the "
        "columns of targets from h on. There may be more heads than columns. Loss:\n\n"
        "    counted   where these targets are not ignore_index      [n, B, T]\n"
        "    shifted   logits minus each row's maximum               [n, B, T, V]\n"
        "    cost      log of the sum of its exps, minus the entry of\n"
        "              the target; 0 where nothing is counted        [n, B, T]\n"
        "    losses    sums over B and T, over the number counted    [n]\n\n"
        "Take index 0 in place of an ignored target, and the number 1 where a head counts nothing. The first "
        "loss stands for itself; the mean of the others is multiplied by weight.",
    ),
    roundings=ROUNDINGS,
    bank_size=40,
)


def loss_case(draw, kind="plain"):
    """Arguments of one call; the kind says what is special about them."""
    heads, batch, vocab = (
        draw(st.sampled_from([3, 2, 4, 1])),
        draw(st.integers(1, 3)),
        draw(st.integers(2, 5)),
    )
    tokens = draw(st.integers(1, 2)) if kind == "short" else draw(st.integers(4, 6))
    heads = max(heads, tokens + 1) if kind == "short" else heads
    dtype, rng = draw(st.float_dtypes()), np.random.default_rng(draw(st.integers(0, 2**16)))
    logits = np.round(2 * rng.standard_normal((heads, batch, tokens, vocab)), 1)
    if kind == "extreme":
        logits = 200 * logits + rng.choice([-1000, 1000], (heads, batch, tokens, 1))
    ignore_index = draw(st.sampled_from([0, -1, 300])) if kind == "other index" else -100
    targets = rng.integers(0, vocab, (batch, tokens))
    targets[rng.random((batch, tokens)) < draw(st.sampled_from([0.3, 0.0]))] = ignore_index
    targets[0, 0] = vocab - 1
    return {
        "logits": draw(st.permuted(st.just(logits.astype(dtype)))),
        "targets": draw(st.permuted(st.just(targets.astype(draw(st.sampled_from(["int64", "int32"])))))),
        "weight": draw(st.sampled_from([0.3, 1.0, 0.1, 2.0])),
        "ignore_index": ignore_index,
    }


@KATA.cases
def cases(draw):
    return loss_case(draw, draw(st.sampled_from(KINDS)))


@KATA.corner(points=0.5)
def extreme_logits(logits):
    """Logits in the hundreds have their loss."""
    return bool(np.abs(logits).max() > 100)


@KATA.corner(points=0.5)
def another_ignore_index(ignore_index):
    """Any ignore_index is the one ignored, a token's id too."""
    return ignore_index != -100


@KATA.corner(points=0.5)
def more_heads_than_tokens(logits):
    """A head that looks past the end of every row has the loss 0."""
    return logits.shape[0] > logits.shape[2]


def pinned(logits, targets, weight=0.3, ignore_index=-100, dtype="float64"):
    return {
        "logits": np.array(logits, dtype), "targets": np.array(targets), "weight": weight,
        "ignore_index": ignore_index,
    }  # fmt: skip


@KATA.example
def printed():
    """The example of the statement."""
    return pinned(
        [[[[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]], [[[0.0, 2.0], [2.0, 0.0], [9.0, -9.0]]]], [[0, 1, 1]]
    )


@KATA.example
def an_ignored_target_in_the_middle():
    logits = [[[[1.0, 0.0, -1.0]] * 4], [[[0.0, 1.0, 3.0]] * 4], [[[2.0, 0.0, 1.0]] * 4]]
    return pinned(logits, [[2, -100, 0, 1]], weight=1.0, dtype="float32")


@KATA.example
def an_ignore_index_above_all_targets():
    logits = [[[[1.0, 0.0], [0.0, 3.0], [2.0, 1.0]]], [[[0.0, 2.0]] * 3]]
    return pinned(logits, [[1, 300, 0]], ignore_index=300)


@KATA.example
def rows_of_different_lengths():
    logits = np.arange(24.0).reshape(2, 2, 3, 2) % 5
    return pinned(logits, [[1, 0, 1], [0, -100, -100]])


@KATA.example
def one_token_and_three_heads():
    return pinned([[[[1.0, 3.0]]], [[[5.0, 0.0]]], [[[0.0, 7.0]]]], [[0]])


@KATA.example
def one_head():
    return pinned([[[[1.0, 3.0], [0.0, 2.0]]]], [[0, 1]], weight=2.0)


@KATA.observe
def observe(student, logits, targets, weight, ignore_index):
    """What has its default is left out, so that the defaults are judged too."""
    index = {} if ignore_index == -100 else {"ignore_index": ignore_index}
    given = {} if weight == 0.3 else {"weight": weight}
    return {
        "targets": student.multi_token_targets(targets, len(logits), **index),
        "loss": student.multi_token_loss(logits, targets, **given, **index),
    }


def head_losses(logits, targets, ignore_index):
    """The loss of each head, position by position in float64."""
    heads, batch, tokens, _ = logits.shape
    losses = []
    for head in range(heads):
        places = [
            (b, t) for b in range(batch) for t in range(tokens - head) if targets[b, t + head] != ignore_index
        ]
        rows = [logits[head, b, t].astype(np.float64) for b, t in places]
        costs = [
            np.logaddexp.reduce(row) - row[targets[b, t + head]]
            for row, (b, t) in zip(rows, places, strict=True)
        ]
        losses.append(float(np.mean(costs)) if costs else 0.0)
    return losses


def loss(student, logits, targets, weight, ignore_index):
    """What multi_token_loss returns, once it is one number."""
    result = student.multi_token_loss(logits, targets, weight=weight, ignore_index=ignore_index)
    number = isinstance(result, float) or getattr(result, "shape", None) == ()
    expect.true(number, "The result must be one number, the loss of all heads.")
    return result


@KATA.law(points=0.5)
def test_one_head_is_cross_entropy(student, logits, targets, weight, ignore_index):
    """With one head the loss is the cross-entropy of the next token, whatever the weight is."""
    expected = head_losses(logits[:1], targets, ignore_index)[0]
    result = loss(student, logits[:1], targets, weight, ignore_index)
    expect.close(result, expected, "the loss of one head", terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_without_weight_the_first_head_counts(student, logits, targets, ignore_index):
    """With a weight of 0 the loss is that of the first head."""
    expected = head_losses(logits, targets, ignore_index)[0]
    result = loss(student, logits, targets, 0.0, ignore_index)
    expect.close(result, expected, "the loss for weight=0", terms=8, roundings=ROUNDINGS)


@KATA.law(points=1)
def test_each_head_has_a_mean_of_its_own(student, logits, targets, weight, ignore_index):
    """The loss is the first head's plus weight times the mean of the others', each over its own targets."""
    first, *others = head_losses(logits, targets, ignore_index)
    expected = first + weight * sum(others) / max(len(others), 1)
    result = loss(student, logits, targets, weight, ignore_index)
    expect.close(result, expected, f"the loss for weight={weight:g}", terms=8, roundings=ROUNDINGS)


@KATA.law(points=1)
def test_targets_are_shifted_and_their_ends_masked(student, logits, targets, ignore_index):
    """Head h at position t has the target of position t + h, and ignore_index where the row has ended."""
    heads, tokens = len(logits), targets.shape[1]
    result = student.multi_token_targets(targets, heads, ignore_index=ignore_index)
    due, shape = (heads, *targets.shape), getattr(result, "shape", None)
    expect.true(shape == due, f"The targets must have the shape [n, B, T] = {due}; they came with {shape}.")
    for head in range(heads):
        rows = [[*row[head:], *[ignore_index] * min(head, tokens)] for row in targets.tolist()]
        expect.equal(result[head], np.array(rows, np.int64), f"the targets of head {head}")


@KATA.law(points=0.5)
def test_logits_at_the_ends_do_not_count(student, logits, targets, weight, ignore_index):
    """What a head predicts past the end of its row changes nothing."""
    other = logits.copy()
    for head in range(1, len(logits)):
        other[head, :, max(logits.shape[2] - head, 0) :, 0] += 50
    before, after = (loss(student, rows, targets, weight, ignore_index) for rows in (logits, other))
    what = "the loss after 50 was added to logits that have no target"
    expect.close(after, before, what, terms=8, roundings=ROUNDINGS)
