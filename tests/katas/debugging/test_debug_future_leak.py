"""debug_future_leak: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "debug_future_leak",
    track="debugging",
    entry_points=("causal_attention_weights",),
    title="A mask that leaks, and comes too late",
    source="Vaswani et al. 2017, section 3.2.3",
    ships_wrong_code="50c502173a75",
    axes={"scores": "batch heads queries keys"},
    roundings=2,
    bank_size=48,
    hints=(
        "There are three faults. The first row shows two: it has two entries that are not 0, and their sum "
        "is not 1. One is where the mask begins, the other when it is applied. The third shows where a score "
        "of the future is larger than all others by a thousand: which maximum is taken away?",
        "np.tril keeps what lies on and below a diagonal, and k moves that diagonal: which entries of row 0 "
        "does the code keep? Then think of the sum in the softmax: which scores are in it, and which should "
        "be?",
        "Leave k at 0. Move the mask up: before the softmax, put -inf where a key is not visible, in a copy "
        "of the scores, and take the maximum of that copy. exp(-inf) is 0, so the softmax gives these keys "
        "nothing, and the rows sum to 1 without anything being done afterwards.",
    ),
)

FOUR_TOKENS = np.array(
    [[2.0, 1.5, 0.5, 1.0], [1.0, 2.5, 1.5, 0.5], [0.5, 1.0, 3.0, 2.0], [1.5, 0.5, 1.0, 2.5]]
)
THREE_TOKENS = np.array([[2.0, 5.0, 4.0], [1.0, 2.0, 6.0], [0.5, 1.0, 2.0]])
FAR = 80  # beyond it, exp leaves the range of float32


@KATA.cases
def cases(draw):
    """Scores of moderate size, with any leading axes; and large ones; memory in any order."""
    return extreme_case(draw) if draw(st.integers(0, 3)) == 3 else plain_case(draw)


def plain_case(draw, most_axes=2):
    """Scores of moderate size."""
    leading = draw(st.sampled_from([[], [], [2], [3], [2, 3], [1, 2], [3, 1]][: 2 + 3 * most_axes]))
    tokens = draw(st.sampled_from([2, 3, 4, 5, 1]))
    scores = st.arrays((*leading, tokens, tokens), draw(st.float_dtypes()), draw(st.sampled_from([1.0, 3.0])))
    return {"scores": draw(st.permuted(scores))}


def extreme_case(draw):
    """Rows in which one of the visible scores leads the others by 250 or more. They lie further apart, some
    below -10,000, and the future may lead them by as much."""
    tokens, dtype = draw(st.sampled_from([2, 3, 4, 1])), draw(st.float_dtypes())
    scores = np.zeros((tokens, tokens), dtype)
    for query, row in enumerate(scores):
        row += draw(st.sampled_from([0, 1000, -1000, -30_000, 1_000_000]))
        row -= [250 * draw(st.integers(1, 3)) for _ in row]
        row[draw(st.integers(0, query))] += 1000
        row[query + 1 :] += draw(st.sampled_from([0, 2000, 40_000, 1_000_000]))
    return {"scores": draw(st.permuted(st.just(scores)))}


@KATA.example
def rows_far_apart():
    """One row is far above the others, and one below -10,000."""
    rows = [[1000, 500, 250], [-500, 250, -250], [-30_000, -30_500, -30_250]]
    return {"scores": np.array(rows, dtype=np.float32)}


@KATA.example
def futures_far_above():
    """What the first token must not see is far above what it may, in the last matrix by more than 10,000."""
    return {"scores": np.array([[[-5, 1000], [0, 1]], [[-5, 100_000], [0, 1]]], dtype=np.float32)}


@KATA.corner(points=0.5)
def extreme_scores(scores):
    """Scores beyond what exp can take give weights as well."""
    return bool(np.abs(scores).max() > FAR)


@KATA.corner(points=0.5)
def leading_axes(scores):
    """Every matrix of a batch is masked, and every one by itself."""
    return scores.ndim > 2


@KATA.example
def two_tokens():
    """The smallest scores with a future."""
    return {"scores": np.array([[0.0, 1.0], [2.0, 0.0]])}


@KATA.example
def three_tokens_of_the_statement():
    """Most of the mass lies in the future."""
    return {"scores": THREE_TOKENS}


@KATA.example
def four_tokens():
    """The printed figures are of these."""
    return {"scores": FOUR_TOKENS}


@KATA.example
def two_heads():
    """The same scores for two heads, once for each of three sequences, the second head reversed."""
    return {"scores": np.stack([np.stack([THREE_TOKENS, THREE_TOKENS[::-1]])] * 3).astype(np.float32)}


def weighed(student, scores):
    """The weights, once they are known to be an array like the scores."""
    weights = student.causal_attention_weights(scores)
    shape = getattr(weights, "shape", None)
    expect.true(
        shape == scores.shape, f"The weights must be an array like scores, here {list(scores.shape)}."
    )
    return weights


@KATA.law(points=1)
def test_future_has_no_weight(student, scores):
    """The future has exactly no weight: every entry above the diagonal is 0."""
    future = np.triu(weighed(student, scores), k=1)
    expect.equal(future, np.zeros_like(future), "the part of the weights above the diagonal")


@KATA.law(points=1)
def test_rows_sum_to_one(student, scores):
    """Every row of weights sums to one."""
    total = weighed(student, scores).sum(axis=-1)
    expect.close(total, np.ones(total.shape), "the sum of each row", terms=scores.shape[-1])


def other_futures(draw):
    """The kata's cases, and what is added to the scores of the future."""
    case = plain_case(draw, most_axes=0)
    return {**case, "change": draw(st.sampled_from([-8.0, -3.0, 2.0, 5.0]))}


@KATA.law(points=1, cases=other_futures)
def test_future_scores_change_nothing(student, scores, change):
    """A score of the future can change without any effect on the weights."""
    changed = scores + np.triu(np.full_like(scores, change), k=1)
    before, after = weighed(student, scores), weighed(student, changed)
    what = f"the matrix of weights, after {change:g} was added to every score above the diagonal,"
    expect.close(after, before, what, terms=scores.shape[-1], roundings=2)


@KATA.law(points=0.5)
def test_printed_weights(student):
    """The printed scores of four tokens give the printed weights."""
    rows = [[1, 0, 0, 0], [0.182, 0.818, 0, 0], [0.067, 0.111, 0.821, 0], [0.213, 0.078, 0.129, 0.579]]
    weights = weighed(student, FOUR_TOKENS)
    expect.decimals(weights, np.array(rows, dtype=np.float64), 3, "the matrix of weights of four tokens")
    future = float(np.triu(weighed(student, THREE_TOKENS), k=1).sum())
    expect.equal(future, 0.0, "the mass of the future in the example of the statement")
