"""min_p: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "min_p",
    track="modern",
    entry_points=("min_p_filter",),
    title="A threshold that follows the most likely token",
    source="Nguyen et al. 2024, section 3",
    library="torch",
    axes={"logits": "batch beams vocab"},
    bank_size=40,
    hints=(
        "Take the example by hand for p = 0.3: what is compared with what? Then halve all probabilities in "
        "your head: who should stay now?",
        "The threshold is one number a row, so the largest probability must keep its axis to meet its own "
        "row. Decide with probabilities, and fill the logits.",
        "Refuse p outside 0 to 1. Softmax along the last axis; p times its maximum there, the axis kept, is"
        " the threshold. Fill -inf where a probability lies below it, and leave the other logits alone.",
    ),
    hint_for={
        "compares_with_p_itself": 1,
        "takes_the_best_of_the_whole_batch": 2,
        "compares_logits": 2,
    },
)

FAR = 80  # beyond it, exp leaves the range of float32
WHOLE = 50_257  # tokens of GPT-2
CLEAR = 0.02  # how far p stays from every share of the largest probability, relative to it


def draw_logits(draw, kind="plain"):
    """Rows of moderate logits, some -inf; or with other axes, or of another size. The largest of each row
    stays finite."""
    rows, vocab, dtype = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.float_dtypes())
    lead = draw(st.sampled_from([(), (2, rows), (rows, 1), (2, 2, rows)])) if kind == "axes" else (rows,)
    # the largest of a plain row is not near 0, so that nothing is right that moves it there
    levels = [(1.0, 10_000), (2.0, -10_000), (1e4, 0)] if kind == "far" else [(1.0, 4), (1.0, 4), (2.0, -6)]
    scale, level = draw(st.sampled_from(levels))
    shape = (*lead, vocab)
    logits = draw(st.arrays(shape, dtype, scale)) + np.asarray(level, dtype)
    if draw(st.integers(0, 2)) == 0:
        column = np.arange(shape[-1]) == draw(st.integers(0, shape[-1] - 1))
        logits = np.where(column & (logits < logits.max(axis=-1, keepdims=True)), -np.inf, logits)
    return logits.astype(dtype)


def clear_shares(logits):
    """Every p half-way between two shares of the largest probability, and other clear ones below 1."""
    wide = logits.astype(np.float64)
    shares = np.exp(wide - wide.max(axis=-1, keepdims=True))
    edges = np.unique(np.concatenate([[1e-4], shares[shares > 1e-4].ravel()]))
    halves = [float(f"{p:.2g}") for p in np.sqrt(edges[1:] * edges[:-1])]
    found = [p for p in [*halves, 0.05, 0.1, 0.5] if (abs(shares - p) > CLEAR * p).all() and p < 1]
    return found or [0.0]


def leaves_one_in_doubt(logits):
    """Whether some token is nearly as likely as the best of its row."""
    wide = logits.astype(np.float64)
    shares = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return bool(((shares > 1 - CLEAR) & (shares < 1)).any())


@KATA.corner(points=0.5)
def zero_and_one(p):
    """p = 0 keeps everything, p = 1 the best and what ties with it."""
    return p in (0.0, 1.0)


@KATA.corner(points=0.5)
def any_leading_axes(logits):
    """No leading axis, or several, are as good as one."""
    return logits.ndim != 2


@KATA.corner(points=0.5)
def any_size(logits):
    """Large logits, and logits that lie far apart, are filtered by their differences."""
    return bool(logits[~logits.isneginf()].abs().max() > FAR)


def as_tensor(draw, logits):
    """As a tensor, its memory in any order of axes."""
    return draw(st.tensors(st.permuted(st.just(logits))))


@KATA.cases
def cases(draw):
    """Logits with any leading axes, and a p that no row of them leaves in doubt."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "axes", "far", "edges"]))
    logits = draw_logits(draw, kind)
    edges = [0.0] if leaves_one_in_doubt(logits) else [0.0, 1.0]
    p = draw(st.sampled_from(edges if kind == "edges" else clear_shares(logits)))
    return {"logits": as_tensor(draw, logits), "p": p}


def four_tokens(p):
    import torch

    return {"logits": torch.tensor([1.0, 3.0, 0.0, 2.0]), "p": p}


@KATA.example
def three_of_four_tokens():
    return four_tokens(0.1)


@KATA.example
def two_of_four_tokens():
    return four_tokens(0.3)


@KATA.example
def a_sure_row_among_others():
    """Two tokens tie at the top of the first row; the last row is nearly even."""
    import torch

    rows = [[2.0, 2.0, -1.0, 1.0], [-2.0, 6.0, 1.0, 0.0], [0.0, -0.25, 0.25, 0.5]]
    return {"logits": torch.tensor(rows), "p": 0.5}


@KATA.example
def the_best_alone():
    """p = 1 keeps what ties with the best."""
    import torch

    return {"logits": torch.tensor([[0.0, 1.0, 1.0, -2.0], [3.0, 0.5, 1.0, -9.0]]), "p": 1.0}


@KATA.example
def a_small_share():
    """Two tokens far below the best, with p between their shares."""
    import torch

    return {"logits": torch.tensor([[5.0, 0.0, -3.0], [0.0, 4.0, -1.0]]), "p": 0.002}


@KATA.example
def a_tail_that_is_rounded_to_nothing():
    """p = 0 keeps even what has the probability 0.0."""
    import torch

    return {"logits": torch.tensor([[0.0, -1000.0, 1.0, -200.0]]), "p": 0.0}


@KATA.example
def nearly_as_likely_as_the_best():
    """p = 1 drops what is less likely by the ninth digit, which float32 does not hold."""
    import torch

    rows = [[0.0, -1e-9, -1.0], [1.0, 1.0, 1.0 - 1e-9]]
    return {"logits": torch.tensor(rows, dtype=torch.float64), "p": 1.0}


@KATA.example
def shares_around_p():
    """Two shares differ from p by the ninth digit, which float32 does not hold."""
    import torch

    shares = torch.tensor([[0.3 + 1e-9, 1.0, 0.3 - 1e-9], [1.0, 0.3 - 1e-9, 0.25]], dtype=torch.float64)
    return {"logits": shares.log() + 2 * FAR, "p": 0.3}


def filtered(student, logits, p):
    """The result, once it is known to be a tensor of the right shape."""
    result = student.min_p_filter(logits, p)
    shape = tuple(getattr(result, "shape", ()))
    right = hasattr(result, "isneginf") and shape == tuple(logits.shape)
    expect.true(right, "The result must be a tensor like logits.")
    return result


@KATA.law(points=0.5)
def test_kept_logits_are_unchanged(student, logits, p):
    """Every logit is either unchanged, to the bit, or -inf."""
    result = filtered(student, logits, p)
    expected = logits.masked_fill(result.isneginf(), float("-inf"))
    expect.equal(result, expected, "a logit that is not dropped")


def any_vocabularies(draw):
    """Cases of the kata, and now and then a seed for a whole vocabulary."""
    whole = draw(st.sampled_from([None] * 9 + [1]))
    if whole is None:
        return {**cases(draw), "whole": whole}
    logits = draw_logits(draw)
    return {"logits": as_tensor(draw, logits), "p": draw(st.sampled_from([0.0, 1e-5])), "whole": whole}


def whole_vocabulary(seed, p):
    """Logits for the 50,257 tokens of GPT-2, in float32, none of which is near the threshold."""
    import torch

    logits = np.random.default_rng(seed).normal(0, 2, (1, WHOLE))
    distance = logits.max() + np.log(max(p, 1e-9)) - logits
    logits[abs(distance) < CLEAR] -= 2 * CLEAR
    return torch.from_numpy(logits.astype(np.float32)), distance <= -CLEAR


@KATA.law(points=0.5, cases=any_vocabularies)
def test_the_best_is_kept(student, logits, p, whole):
    """The most likely token of every row is kept, and of 50,257 every one that is likely enough."""
    if whole is not None:
        logits, due = whole_vocabulary(whole, p)
        kept = ~filtered(student, logits, p).isneginf()
        what = f"Of {WHOLE} tokens {due.sum()} reach p={p:g}; {int(kept.sum())} were kept."
        expect.true(bool((kept.numpy() == due).all()), what)
        return
    best = logits == logits.amax(dim=-1, keepdim=True)
    kept = ~filtered(student, logits, p).isneginf()
    expect.true(bool((kept | ~best).all()), f"With p={p:g} a most likely token is dropped.")


def with_a_token_to_hide(draw):
    """A token that is not the best of its row, which can be made impossible."""
    logits = draw_logits(draw)
    column, p = draw(st.integers(0, logits.shape[-1] - 1)), draw(st.sampled_from(clear_shares(logits)))
    return {"logits": as_tensor(draw, logits), "p": p, "token": column}


@KATA.law(points=0.5, cases=with_a_token_to_hide)
def test_only_the_best_counts(student, logits, p, token):
    """Whether a token is kept depends on itself and the most likely one: hiding another changes nothing."""
    best = logits[..., token] == logits.amax(dim=-1)
    before, hidden = filtered(student, logits, p), logits.clone()
    hidden[..., token] = hidden[..., token].masked_fill(~best, float("-inf"))
    expected = before.clone()
    expected[..., token] = before[..., token].masked_fill(~best, float("-inf"))
    what = f"the result after token {token} was set to -inf where it is not the best"
    expect.equal(filtered(student, hidden, p), expected, what)


@KATA.law(points=0.5)
def test_only_differences_count(student, logits, p):
    """Adding one number to all logits changes nothing in what is kept."""
    before = filtered(student, logits, p).isneginf()
    for shift in (-64.0, 16.0):
        after = filtered(student, logits + shift, p).isneginf()
        expect.equal(after, before, f"which tokens are -inf, after {shift:g} is added to all logits,")


@KATA.law(points=0.5)
def test_rows_are_independent(student, logits, p):
    """Each row is filtered as if it stood alone."""
    rows = logits.reshape(-1, logits.shape[-1])
    results = filtered(student, logits, p).reshape(rows.shape)
    for index, result in enumerate(results):
        alone = filtered(student, rows[index : index + 1], p)[0]
        expect.equal(result, alone, f"row {index} among {len(rows)}, against itself alone,")


def two_shares(draw):
    """Logits with two clear shares, the smaller first."""
    logits = draw_logits(draw)
    shares = clear_shares(logits)
    smaller, larger = sorted([draw(st.sampled_from(shares)), draw(st.sampled_from(shares))])
    return {"logits": as_tensor(draw, logits), "smaller": smaller, "larger": larger}


@KATA.law(points=0.5, cases=two_shares)
def test_larger_p_keeps_less(student, logits, smaller, larger):
    """What a larger p keeps, a smaller p keeps too."""
    many = ~filtered(student, logits, smaller).isneginf()
    few = ~filtered(student, logits, larger).isneginf()
    expect.true(not (few & ~many).any(), f"What p={larger:g} keeps, p={smaller:g} must keep too.")


def no_share(draw):
    """Logits, and a p that is no share."""
    p = draw(st.sampled_from([-0.25, 1.25, -1.0, 2.0]))
    return {"logits": as_tensor(draw, draw_logits(draw)), "p": p}


@KATA.law(points=0.5, cases=no_share)
def test_refuses_what_is_no_share(student, logits, p):
    """p below 0 or above 1 is refused with a ValueError."""
    expect.refuses(student.min_p_filter, logits, p, why=f"p={p:g} is no share of the largest probability")
