"""debug_masked_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "debug_masked_attention",
    track="debugging",
    entry_points=("masked_attention",),
    title="Masked attention with two faults",
    source="Vaswani et al. 2017, sections 3.2.1 and 3.2.3",
    ships_wrong_code="1a5ce8dad28a",
    axes={
        "x": "tokens d_model",
        "w_q": "d_model d_k",
        "w_k": "d_model d_k",
        "w_v": "d_model d_v",
        "features": "tokens zeros",
    },
    roundings=4,
    bank_size=48,
    hints=(
        "There are two faults, and one of them cannot show where T is 1, the other cannot where d_k is "
        "d_model. Take T = 2 and different widths, print the weights, and compare with the claims of the "
        "statement.",
        "Each query has a softmax of its own: what is the axis of the keys in [T, T], and do all steps of "
        "the softmax know it? Then the scale: by which letter does the formula divide, and which width does "
        "the code take?",
        "The mask is right, leave it. Take the maximum and the sum along the last axis, and keep that axis, "
        "so that each row is divided by its own sum. Divide the scores by the root of the width of q and k, "
        "which is the number of columns of w_q.",
    ),
)

LARGEST_SCORE = 16.0  # before scaling
FAR = 80  # beyond it, exp leaves the range of float32


@KATA.cases
def cases(draw):
    """A sequence and three matrices, with scores of moderate size; and with large ones."""
    return extreme_case(draw) if draw(st.integers(0, 4)) == 4 else plain_case(draw)


def plain_case(draw):
    """A sequence and three matrices, whose widths mostly differ; scores of moderate size."""
    dtype = draw(st.float_dtypes())
    tokens = draw(st.sampled_from([3, 2, 4, 5, 3, 2, 1]))
    d_model, d_k, d_v = draw(st.shapes(3))
    x = draw(st.arrays((tokens, d_model), dtype))
    w_q, w_k = draw(st.arrays((d_model, d_k), dtype)), draw(st.arrays((d_model, d_k), dtype))
    while np.abs(x @ w_q @ (x @ w_k).T).max() > LARGEST_SCORE:
        w_q = w_q / 2
    w_v = draw(st.arrays((d_model, d_v), dtype))
    x, w_v = (array if array.any() else array + np.ones_like(array) for array in (x, w_v))
    named = {"x": x, "w_q": w_q.astype(dtype), "w_k": w_k, "w_v": w_v}
    return {name: draw(st.permuted(st.just(array))) for name, array in named.items()}


def extreme_case(draw):
    """Tokens and keys are the unit vectors, so that w_q holds the scores before they are scaled. Of those
    that a row may see one leads by far. Rows lie further apart, some below -10,000, and the future may lead
    them by as much."""
    tokens, dtype = draw(st.sampled_from([2, 3, 4, 1])), draw(st.float_dtypes())
    w_q, unit = np.zeros((tokens, tokens), dtype), np.eye(tokens, dtype=dtype)
    for query, row in enumerate(w_q):
        row += draw(st.sampled_from([0, 2000, -2000, -60_000, 1_000_000]))
        row -= [500 * draw(st.integers(1, 3)) for _ in row]
        row[draw(st.integers(0, query))] += 2000
        row[query + 1 :] += draw(st.sampled_from([0, 4000, 80_000, 1_000_000]))
    w_v = draw(st.arrays((tokens, draw(st.sampled_from([2, 3]))), dtype))
    named = {"x": unit, "w_q": w_q, "w_k": unit, "w_v": w_v}
    return {name: draw(st.permuted(st.just(array))) for name, array in named.items()}


@KATA.example
def rows_far_apart():
    """One row of scores is far above the others, and one below -10,000."""
    rows = [[2000, 1000, 500], [-60_000, -61_000, -60_500], [-1000, 500, -500]]
    unit = np.eye(3, dtype=np.float32)
    w_v = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    return {"x": unit, "w_q": np.array(rows, dtype=np.float32), "w_k": unit, "w_v": w_v}


@KATA.example
def futures_far_above():
    """What the first two tokens must not see is far above what they may, once by more than 10,000."""
    rows = [[-5, 60_000, 0], [1, 2, 4000], [1, 2, 3]]
    unit = np.eye(3, dtype=np.float32)
    w_v = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    return {"x": unit, "w_q": np.array(rows, dtype=np.float32), "w_k": unit, "w_v": w_v}


@KATA.corner(points=0.5)
def extreme_scores(x, w_q, w_k):
    """Scores beyond what exp can take give weights as well."""
    scores = (x @ w_q) @ (x @ w_k).T / w_k.shape[1] ** 0.5
    return bool(np.abs(scores).max() > FAR)


@KATA.corner(points=0.5)
def widths_of_one(x, w_k, w_v):
    """Axes of length one stay where they are: a width of 1 is a width."""
    return len(x) > 1 and 1 in (x.shape[1], w_k.shape[1], w_v.shape[1])


@KATA.example
def the_example_of_the_statement():
    """The two weights of the second token differ, and d_k is not d_model."""
    return {
        "x": np.eye(2),
        "w_q": np.array([[1.0], [2.0]]),
        "w_k": np.array([[0.0], [1.0]]),
        "w_v": np.eye(2),
    }


@KATA.example
def one_token():
    """Every softmax of one score is 1."""
    one = np.ones((1, 1), dtype=np.float32)
    return {"x": one, "w_q": one, "w_k": one, "w_v": 3 * one}


@KATA.example
def three_tokens_of_four_widths():
    """No two axes are of the same length."""
    random = np.random.default_rng(0)
    shapes = {"x": (3, 2), "w_q": (2, 4), "w_k": (2, 4), "w_v": (2, 5)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def attended(student, x, w_q, w_k, w_v):
    """The output, once it is known to be an array [T, d_v]."""
    output = student.masked_attention(x, w_q, w_k, w_v)
    due = (len(x), w_v.shape[1])
    expect.true(
        getattr(output, "shape", None) == due, f"The output must be an array [T, d_v], here {list(due)}."
    )
    return output


@KATA.law(points=1)
def test_weights_of_a_query_sum_to_one(student, x, w_q, w_k):
    """The weights of each query sum to one: where every value is 1, every output is."""
    one = np.ones((len(x), 1), dtype=x.dtype)
    nothing = np.zeros((1, w_q.shape[1]), dtype=x.dtype)
    w_v = np.eye(x.shape[1] + 1, dtype=x.dtype)[:, -1:]
    output = attended(student, np.hstack([x, one]), np.vstack([w_q, nothing]), np.vstack([w_k, nothing]), w_v)
    what = "the output where every value is 1, so the sum of each query's weights,"
    expect.close(output[:, 0], np.ones(len(x)), what, terms=len(x), roundings=2)


def with_empty_features(draw):
    """The kata's cases, and some features of x that are 0 for every token."""
    case = plain_case(draw)
    zeros = draw(st.integers(1, 6))
    return {**case, "features": np.zeros((len(case["x"]), zeros), dtype=case["x"].dtype)}


@KATA.law(points=1, cases=with_empty_features)
def test_empty_features_change_nothing(student, x, w_q, w_k, w_v, features):
    """Features that are 0 for every token change nothing, however many they are."""
    wider = [np.vstack([w, np.ones((features.shape[1], w.shape[1]), dtype=w.dtype)]) for w in (w_q, w_k, w_v)]
    before = attended(student, x, w_q, w_k, w_v)
    after = attended(student, np.hstack([x, features]), *wider)
    d_model = x.shape[1]
    what = (
        f"the output with d_model={d_model + features.shape[1]}, as {features.shape[1]} of the features are "
        f"0 and q, k and v are those of d_model={d_model},"
    )
    expect.close(after, before, what, terms=max(*x.shape, w_q.shape[1]), roundings=8)


@KATA.law(points=0.5)
def test_first_token_sees_itself_only(student, x, w_q, w_k, w_v):
    """The first token's output is its own value."""
    output = attended(student, x, w_q, w_k, w_v)
    expect.close(output[0], x[0] @ w_v, "the output of the first token", terms=x.shape[1], roundings=4)


@KATA.law(points=0.5)
def test_no_token_sees_a_later_one(student, x, w_q, w_k, w_v):
    """A sequence that is cut short has the outputs that its tokens had before."""
    whole = attended(student, x, w_q, w_k, w_v)
    for length in range(1, len(x)):
        what = f"the output of the first {length} of {len(x)} tokens, without the others,"
        cut = attended(student, x[:length], w_q, w_k, w_v)
        expect.close(cut, whole[:length], what, terms=max(*x.shape, w_q.shape[1]), roundings=8)
