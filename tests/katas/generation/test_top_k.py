"""top_k: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "top_k",
    track="generation",
    entry_points=("top_k_filter",),
    title="Only the k most likely tokens stay",
    source="Fan et al. 2018, section 5.4",
    library="torch",
    axes={"logits": "batch beams vocab"},
    bank_size=40,
    hints=(
        "Whether a token stays can be read off one number a row: the smallest logit that is kept. Which "
        "one of the row's logits, in order, is that?",
        "topk returns each row's largest, in order, along the axis it is told; the last of them is the "
        "threshold. Keep its axis, with length 1, so that every row meets its own. What is compared with "
        "it stays in place, so nothing has to be carried back. What if k is larger than the row?",
        "Refuse k < 1. Take the min(k, V) largest along the last axis, and of these the last, as "
        "[..., 1]. Fill -inf, in a copy, where a logit is less than it: the k-th itself is not less, "
        "and stays.",
    ),
    hint_for={
        "keeps_one_token_too_many": 1,
        "uses_the_threshold_of_the_first_row": 2,
        "uses_the_lowest_threshold": 2,
        "leaves_the_logits_sorted": 2,
        "raises_where_k_exceeds_the_vocabulary": 2,
        "drops_the_kth_token": 3,
    },
)

GAP = 0.01  # logits nearer than this count as tied
FAR = 80  # beyond it, exp leaves the range of float32
WHOLE = 50_257  # tokens of GPT-2
MANY = 120  # tokens of a large vocabulary; small enough for a comparison of all pairs


@KATA.cases
def cases(draw):
    """Logits with any leading axes, and a k that no row of them leaves in doubt."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "axes", "axes", "far", "ties", "many"]))
    logits = draw_logits(draw, kind)
    counts = clear_counts(logits)
    k = draw(st.sampled_from([*counts, *counts, *counts, logits.shape[-1]]))
    return {"logits": as_tensor(draw, logits), "k": k}


def draw_logits(draw, kind="plain"):
    """Rows of moderate logits, some -inf; or with other axes, of another size, tied, or many. The largest
    of each row stays finite."""
    dtype = draw(st.float_dtypes())
    rows, vocab = draw(st.integers(1, 3)), draw(st.integers(3 if kind == "axes" else 1, 6))
    if kind == "many":
        return draw(st.normal_arrays((1, MANY), dtype))
    lead = draw(st.sampled_from([(2, rows), (2, 2, rows), (rows, 1), ()])) if kind == "axes" else (rows,)
    levels = [(1.0, 10_000), (2.0, -10_000), (1e4, 0)] if kind == "far" else [(1.0, 0), (1.0, 0), (4.0, 0)]
    scale, level = draw(st.sampled_from(levels))
    arrays, shape = st.readable_arrays if kind == "ties" else st.normal_arrays, (*lead, vocab)
    logits = draw(arrays(shape, dtype, scale)) + np.asarray(level, dtype)
    if kind == "axes":  # in many rows of any numbers some are close for every k
        logits = (logits.argsort(axis=-1).argsort(axis=-1) / 2).astype(dtype)
    if draw(st.integers(0, 2)) == 0:
        hidden = np.arange(shape[-1]) == draw(st.integers(0, shape[-1] - 1))
        logits = np.where(hidden & (logits < logits.max(axis=-1, keepdims=True)), -np.inf, logits)
    return logits.astype(dtype)


@KATA.corner(points=0.5)
def any_logits(logits):
    """Logits that tie, lie far from 0 or are many are ranked as they are."""
    if logits.shape[-1] >= MANY or logits[~logits.isneginf()].abs().max() > FAR:
        return True
    rows = logits.sort(dim=-1).values
    gaps = (rows[..., 1:] - rows[..., :-1])[~rows[..., :-1].isneginf()]
    return bool((gaps < GAP).any())


@KATA.corner(points=0.5)
def any_leading_axes(logits):
    """No leading axis, or several, are as good as one."""
    return logits.ndim != 2


def as_tensor(draw, logits):
    """As a tensor, its memory in any order of axes."""
    return draw(st.tensors(st.permuted(st.just(logits))))


def clear_counts(logits):
    """Every k below V at which no row has to choose between tied tokens."""
    rows = -np.sort(-logits.astype(np.float64).reshape(-1, logits.shape[-1]))
    kept, dropped = rows[:, :-1], rows[:, 1:]
    clear = np.isneginf(dropped) | (np.where(np.isneginf(dropped), 0, kept - dropped) > GAP)
    return [int(k) for k in np.flatnonzero(clear.all(axis=0)) + 1]


def four_tokens():
    """Logits whose order is no order of the tokens."""
    import torch

    return torch.tensor([1.0, 3.0, 0.0, 2.0])


@KATA.example
def first_of_four_tokens():
    """The example of the statement; k = 1 is greedy."""
    return {"logits": four_tokens(), "k": 1}


@KATA.example
def two_of_four_tokens():
    """The example of the statement."""
    return {"logits": four_tokens(), "k": 2}


@KATA.example
def rows_at_different_heights():
    """Three rows without a common threshold; the first has a tie among its best, the second below them."""
    import torch

    rows = [[0.0, 0.0, -1.0, -9.0], [-2.0, 5.0, -2.0, 0.0], [3.0, 2.5, 7.0, 6.0]]
    return {"logits": torch.tensor(rows), "k": 2}


@KATA.example
def fewer_possible_tokens_than_k():
    """A row with one token that is not -inf already, beside a row with all."""
    import torch

    inf = float("inf")
    return {"logits": torch.tensor([[-inf, -1.0, -inf, -inf], [1.0, 2.0, 3.0, 4.0]]), "k": 2}


@KATA.example
def tokens_far_from_the_best():
    """Tokens whose probability is rounded to 0, and which still have an order."""
    import torch

    return {"logits": torch.tensor([[-3000.0, -2000.0, 0.0], [-1000.0, 900.0, -950.0]]), "k": 2}


@KATA.example
def logits_that_only_float64_tells_apart():
    """Two logits that are one in float32."""
    import torch

    return {"logits": torch.tensor([[1.0, 1.0 + 1e-9, 0.5]], dtype=torch.float64), "k": 1}


def filtered(student, logits, k):
    """The result, once it is known to be a tensor of the right shape."""
    result = student.top_k_filter(logits, k)
    shape = tuple(getattr(result, "shape", ()))
    expect.true(
        hasattr(result, "isneginf") and shape == tuple(logits.shape),
        "The result must be a tensor like logits.",
    )
    return result


@KATA.law(points=0.5)
def test_kept_logits_are_unchanged(student, logits, k):
    """Every logit is either unchanged, to the bit, or -inf."""
    result = filtered(student, logits, k)
    expected = logits.masked_fill(result.isneginf(), float("-inf"))
    expect.equal(result, expected, "a logit that is not dropped")


@KATA.law(points=0.5)
def test_each_row_keeps_k_tokens(student, logits, k):
    """Each row keeps k tokens, or all of its possible ones where these are fewer."""
    kept = (~filtered(student, logits, k).isneginf()).sum(dim=-1)
    possible = (~logits.isneginf()).sum(dim=-1)
    expect.equal(kept, possible.clamp(max=k), f"the number of tokens that each row keeps with k={k}")


@KATA.law(points=0.5)
def test_rows_are_independent(student, logits, k):
    """Each row is filtered as if it stood alone."""
    rows = logits.reshape(-1, logits.shape[-1])
    results = filtered(student, logits, k).reshape(rows.shape)
    for index, result in enumerate(results):
        alone = filtered(student, rows[index : index + 1], k)[0]
        expect.equal(result, alone, f"row {index} among {len(rows)}, against itself alone,")


def shuffled(draw):
    """Logits, a clear k, and an order to put the vocabulary in."""
    logits = draw_logits(draw)
    return {
        "logits": as_tensor(draw, logits),
        "k": draw(st.sampled_from([*clear_counts(logits), logits.shape[-1]])),
        "order": list(draw(st.permutations(range(logits.shape[-1])))),
    }


@KATA.law(points=0.5, cases=shuffled)
def test_tokens_keep_their_places(student, logits, k, order):
    """Reordering the vocabulary reorders the result, and changes nothing else."""
    expected = filtered(student, logits, k)[..., order]
    what = f"the result for the tokens in the order {order}"
    expect.equal(filtered(student, logits[..., order], k), expected, what)


def two_counts(draw):
    """Logits with two values of k, both clear, the smaller first."""
    logits = draw_logits(draw)
    counts = [*clear_counts(logits), logits.shape[-1]]
    smaller, larger = sorted([draw(st.sampled_from(counts)), draw(st.sampled_from(counts))])
    return {"logits": as_tensor(draw, logits), "smaller": smaller, "larger": larger}


@KATA.law(points=0.5, cases=two_counts)
def test_filters_can_be_chained(student, logits, smaller, larger):
    """Keeping k tokens of those that a larger k has kept is keeping k at once."""
    at_once = filtered(student, logits, smaller)
    chained = filtered(student, filtered(student, logits, larger), smaller)
    expect.equal(chained, at_once, f"the result for k={smaller} after k={larger}, against k={smaller} alone,")


def whole_vocabularies(draw):
    """Any logits, and a k that is not less than V."""
    logits = draw_logits(draw)
    return {"logits": as_tensor(draw, logits), "k": logits.shape[-1] + draw(st.sampled_from([0, 1, 50]))}


@KATA.law(points=0.5, cases=whole_vocabularies)
def test_large_k_keeps_everything(student, logits, k):
    """k of V or more keeps every token."""
    expect.equal(student.top_k_filter(logits, k), logits, f"the result for k={k}")


def no_tokens(draw):
    """Logits, and a k that leaves nothing to sample."""
    return {"logits": as_tensor(draw, draw_logits(draw)), "k": draw(st.sampled_from([0, -1, -3]))}


@KATA.law(points=0.5, cases=no_tokens)
def test_refuses_k_of_zero(student, logits, k):
    """k below 1 is refused with a ValueError."""
    expect.refuses(student.top_k_filter, logits, k, why=f"k={k} leaves no token to sample")


@KATA.law(points=0.5)
def test_holds_a_whole_vocabulary(student):
    """Of 50,257 tokens the k largest are kept as of four, and all of them with k = 50,257."""
    import torch

    logits = torch.from_numpy(np.random.default_rng(0).permutation(WHOLE).astype(np.float32) / 64)[None]
    for k in (50, 500, WHOLE):
        kept = ~filtered(student, logits, k).isneginf()
        count = int(kept.sum())
        expect.true(count == k, f"Of {WHOLE} tokens that all differ, k={k} keeps {k}; {count} were kept.")
        least, most = logits[kept].min(), logits[~kept].max() if k < WHOLE else -np.inf
        expect.true(bool(least > most), f"The {k} tokens kept of {WHOLE} must be the largest.")
