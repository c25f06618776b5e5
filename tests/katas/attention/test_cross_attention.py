"""cross_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4  # three matrix products and a softmax

KATA = Kata(
    "cross_attention",
    track="attention",
    entry_points=("cross_attention",),
    title="The decoder reads the encoder",
    source="Vaswani et al. 2017, section 3.2.3; Bahdanau, Cho and Bengio 2015, section 3.1",
    roundings=ROUNDINGS,
    bank_size=32,
    axes={
        "x_dec": "batch targets d_model",
        "x_enc": "batch sources d_model",
        "w_q": "d_model d_k",
        "w_k": "d_model d_k",
        "w_v": "d_model d_v",
    },
    hints=(
        "Draw the rectangle of weights for two target tokens and five source tokens. Which sequence gives "
        "the rows, which the columns, and along which of the two do the weights sum to one?",
        "Write the shapes beside q, k and v before you multiply. In q times k only the last two axes of k "
        "change places; the batch stays in front. The scale follows from the columns of q.",
        "q is x_dec times w_q; k and v are x_enc times w_k and w_v. Scores: q times k with its last two axes "
        "exchanged, over math.sqrt of q's last axis. Softmax along the last axis, with each row's maximum "
        "taken away first. Return the weights times v, and the weights.",
    ),
    hint_for={
        "attends_to_itself": 1,
        "lets_the_source_read_the_target": 1,
        "normalises_over_the_target": 1,
        "normalises_over_all_pairs": 1,
        "scales_by_the_root_of_d_model": 2,
        "scales_by_the_width_of_the_values": 2,
        "expects_a_batch_of_one": 2,
    },
)

SLACK = {"terms": 5, "roundings": ROUNDINGS}


@KATA.cases
def cases(draw):
    """Tokens and matrices of tenths, or whole numbers that make large scores."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "plain", "wide", "large", "large"]))
    return draw_inputs(draw, one_width=kind != "wide", whole=kind == "large")


def draw_inputs(draw, one_width=True, whole=False):
    """Every length is drawn by itself. Large scores stay in the thousands, where exp(scores -
    logsumexp(scores)) loses few digits."""
    batch, targets, sources, d_model = (draw(st.sampled_from([2, 3, 1, 4])) for _ in range(4))
    d_k, d_v = draw(st.sampled_from([2, 3, 1, 4])), draw(st.sampled_from([2, 1, 3]))
    d_v = d_k if one_width else d_v
    dtype, rng = draw(st.float_dtypes()), np.random.default_rng(draw(st.integers(0, 2**16)))

    def numbers(tenths, *shape):
        size, parts = (4 if d_model < 3 else 3, 1) if whole else (tenths, 10)
        drawn = rng.integers(-size, size + 1, shape) / parts
        return draw(st.permuted(st.just(drawn.astype(dtype))))

    return {
        "x_dec": numbers(20, batch, targets, d_model),
        "x_enc": numbers(20, batch, sources, d_model),
        "w_q": numbers(10, d_model, d_k),
        "w_k": numbers(10, d_model, d_k),
        "w_v": numbers(10, d_model, d_v),
    }


@KATA.corner(points=0.5)
def extreme_scores(x_dec, x_enc, w_q, w_k):
    """Scores beyond what exp can take give weights as well."""
    q, k = x_dec.astype(np.float64) @ w_q, x_enc.astype(np.float64) @ w_k
    return np.abs(q @ k.swapaxes(1, 2)).max() / np.sqrt(w_q.shape[1]) > 50


@KATA.corner(points=0.5)
def values_of_another_width(w_q, w_v):
    """The values may have another width than queries and keys."""
    return w_q.shape[1] != w_v.shape[1]


@KATA.corner(points=0.5)
def source_tokens_of_zeros(x_enc):
    """A source token of zeros is read like any other."""
    return bool((x_enc == 0).all(axis=-1).any())


@KATA.example
def two_targets_and_three_sources():
    """The example of the statement."""
    return {
        "x_dec": np.array([[[1.0, 0.0], [0.0, 1.0]]]),
        "x_enc": np.array([[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]]),
        "w_q": np.array([[2.0, 0.0], [0.0, 1.0]]),
        "w_k": np.eye(2),
        "w_v": np.array([[3.0], [1.0]]),
    }


@KATA.example
def one_source_token_stands_out():
    """Beside one score the others are nothing; the other sequence has low scores alone."""
    x_enc = np.array([[[1.0], [2.0], [20000.0]], [[-20000.0], [-30000.0], [-25000.0]]], dtype=np.float32)
    one = np.ones((1, 1), dtype=np.float32)
    x_dec = np.array([[[1.0], [-1.0]], [[1.0], [1.0]]], dtype=np.float32)
    return {"x_dec": x_dec, "x_enc": x_enc, "w_q": one, "w_k": one, "w_v": one / 1000}


@KATA.example
def texts_of_one_length():
    """Where T_tgt, T_src and all widths agree, shapes tell nothing."""
    rng = np.random.default_rng(3)
    shapes = {"x_dec": (2, 2, 2), "x_enc": (2, 2, 2), "w_q": (2, 2), "w_k": (2, 2), "w_v": (2, 2)}
    return {name: (rng.integers(-20, 21, shape) / 10).astype(np.float32) for name, shape in shapes.items()}


@KATA.example
def a_source_token_of_zeros():
    """A token of zeros has a score of 0 and is read like any other."""
    case = {**two_targets_and_three_sources(), "w_v": np.array([[3.0, 0.0], [1.0, 2.0]])}
    return {**case, "x_enc": np.array([[[1.0, 0.0], [0.0, 0.0], [-1.0, 2.0]]])}


@KATA.observe
def observe(student, x_dec, x_enc, w_q, w_k, w_v):
    output, weights = student.cross_attention(x_dec, x_enc, w_q, w_k, w_v)
    return {"output": output, "weights": weights}


def attend(student, x_dec, x_enc, w_q, w_k, w_v):
    """The pair that comes back, once both have their shapes."""
    pair = student.cross_attention(x_dec, x_enc, w_q, w_k, w_v)
    expect.true(
        isinstance(pair, tuple | list) and len(pair) == 2, "The result must be a pair, (output, weights)."
    )
    due = (*x_dec.shape[:2], w_v.shape[1]), (*x_dec.shape[:2], x_enc.shape[1])
    for name, part, shape in zip(("output", "weights"), pair, due, strict=True):
        found = getattr(part, "shape", None)
        expect.true(
            found == shape,
            f"The {name} must have the shape {shape}; it has {found or 'none'}.",
        )
    return pair


@KATA.law(points=0.5)
def test_weights_sum_to_one(student, x_dec, x_enc, w_q, w_k, w_v):
    """The weights of every target token are at least 0 and sum to one over the source."""
    _, weights = attend(student, x_dec, x_enc, w_q, w_k, w_v)
    expect.true((weights >= 0).all(), "No weight may be negative, or NaN.")
    total = weights.sum(axis=-1)
    expect.close(total, np.ones(total.shape), "the sum of each row of weights", **SLACK)


@KATA.law(points=0.5)
def test_output_mixes_the_source(student, x_dec, x_enc, w_q, w_k, w_v):
    """The output is the product of the weights and the source's values."""
    output, weights = attend(student, x_dec, x_enc, w_q, w_k, w_v)
    expect.close(output, weights @ (x_enc @ w_v), "the output, beside weights @ (x_enc @ w_v),", **SLACK)


@KATA.law(points=1, cases=draw_inputs)
def test_target_tokens_read_alone(student, x_dec, x_enc, w_q, w_k, w_v):
    """Each target token reads its source as if there were no other token and no other sequence."""
    output, weights = attend(student, x_dec, x_enc, w_q, w_k, w_v)
    for b, t in np.ndindex(x_dec.shape[:2]):
        alone = attend(student, x_dec[b : b + 1, t : t + 1], x_enc[b : b + 1], w_q, w_k, w_v)
        together = [part[b : b + 1, t : t + 1] for part in (output, weights)]
        what = f"the pair (output, weights) of token {t} of sequence {b}, against itself alone,"
        expect.close(together, list(alone), what, **SLACK)


def with_a_reordered_source(draw):
    case = draw_inputs(draw)
    return {**case, "order": list(draw(st.permutations(range(case["x_enc"].shape[1]))))}


@KATA.law(points=0.5, cases=with_a_reordered_source)
def test_source_has_no_order(student, x_dec, x_enc, w_q, w_k, w_v, order):
    """Reordering the source reorders the columns of the weights and leaves the output as it was."""
    output, weights = attend(student, x_dec, x_enc, w_q, w_k, w_v)
    after = attend(student, x_dec, x_enc[:, order], w_q, w_k, w_v)
    what = f"the pair (output, weights) for the source in the order {order}"
    expect.close(list(after), [output, weights[..., order]], what, **SLACK)


@KATA.law(points=0.5, cases=draw_inputs)
def test_scores_grow_with_the_root_of_d_k(student, x_dec, x_enc, w_q, w_k, w_v):
    """Four copies of every column of w_q and w_k act as twice w_q."""
    doubled = attend(student, x_dec, x_enc, 2 * w_q, w_k, w_v)
    repeated = attend(student, x_dec, x_enc, np.tile(w_q, 4), np.tile(w_k, 4), w_v)
    what = "the pair (output, weights) with every column of w_q and w_k four times over"
    expect.close(list(repeated), list(doubled), what, terms=5, roundings=2 * ROUNDINGS)


@KATA.law(points=0.5)
def test_worked_example(student):
    """The worked example comes out, weights and output."""
    output, weights = attend(student, **two_targets_and_three_sources())
    due = np.array([[[0.446, 0.108, 0.446], [0.140, 0.576, 0.284]]])
    expect.decimals(weights, due, 3, "the rectangle of weights")
    expect.decimals(output, np.array([[[3.337], [2.708]]]), 3, "the output")
