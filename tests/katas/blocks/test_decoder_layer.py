"""decoder_layer: its cases and its laws.

Right float32 answers differ from the exact one by the rounding of a dozen matrix products and three layer
norms, and a norm multiplies what came before by one over the row's spread. `ROUNDINGS` leaves room for
that; mistakes below it show in the float64 cases.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
SLACK = {"terms": 8, "roundings": ROUNDINGS}
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(1, 3), (1, 4), (1, 5), (2, 4), (2, 6), (2, 8), (3, 3), (3, 6)]

KATA = Kata(
    "decoder_layer",
    track="blocks",
    entry_points=("decoder_layer",),
    title="One decoder layer",
    source="Vaswani et al. 2017, sections 3.1 to 3.3; pre-norm: Xiong et al. 2020, section 3",
    hints=(
        "Write the three lines of the statement first, with three functions that do not exist yet. The "
        "right-hand side of each begins with x itself, not with its norm.",
        "One attention function serves both times: it takes the rows that ask, the rows that are read, four "
        "matrices, and a mask that may be None. Only the self-attention is given one.",
        "To split: reshape to (tokens, heads, d_head), then bring the heads to the front. Scores over the "
        "root of d_head, -inf above the diagonal, softmax over the keys, times v. Back: bring the tokens to "
        "the front again, reshape to (tokens, d_model), times o.",
    ),
    hint_for={
        "adds_to_the_normalised_input": 1,
        "normalises_after_adding": 1,
        "forgets_the_residual_of_self_attention": 1,
        "forgets_the_residual_of_cross_attention": 1,
        "forgets_the_residual_of_the_feed_forward": 1,
        "masks_the_cross_attention": 2,
        "sizes_the_mask_by_the_memory": 2,
        "merges_heads_without_transposing": 3,
        "splits_heads_without_transposing": 3,
    },
    roundings=ROUNDINGS,
    bank_size=40,
)


def token_rows(draw, tokens, d_model, dtype):
    """Rows of hundredths whose spread is neither lost beside their mean nor blown up by a norm."""
    wide = st.normal_arrays((tokens, d_model), dtype, scale=draw(st.sampled_from([0.5, 1.0, 2.0])))
    rows = wide.map(lambda drawn: np.round(drawn, 2) + 0.0)
    return draw(st.permuted(rows.filter(lambda drawn: drawn.std(axis=-1).min() > 0.2)))


def layer_params(draw, d_model, d_ff, dtype):
    """Weights of one layer: hundredths around 0.3 in size, rows or columns next to each other in memory."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    order = draw(st.sampled_from("CF"))

    def matrix(rows, columns):
        hundredths = np.round(rng.standard_normal((rows, columns)) * 0.3, 2) + 0.0
        return np.asarray(hundredths, dtype=dtype, order=order)

    return {
        "self_attention": {name: matrix(d_model, d_model) for name in "qkvo"},
        "cross_attention": {name: matrix(d_model, d_model) for name in "qkvo"},
        "feed_forward": {"w1": matrix(d_model, d_ff), "w2": matrix(d_ff, d_model)},
    }


def layer_case(draw, *, shortest_target=1, longest_source=4, widths=WIDTHS):
    """Arguments of one call; the two lengths are drawn apart, and so is d_ff."""
    num_heads, d_model = draw(st.sampled_from(widths))
    dtype = draw(st.float_dtypes())
    return {
        "x": token_rows(draw, draw(st.integers(shortest_target, 5)), d_model, dtype),
        "memory": token_rows(draw, draw(st.integers(1, longest_source)), d_model, dtype),
        "params": layer_params(draw, d_model, draw(st.integers(1, 8)), dtype),
        "num_heads": num_heads,
    }


def changed(params, sublayer, **matrices):
    """A copy of `params` with other matrices in one sublayer."""
    return {**params, sublayer: {**params[sublayer], **matrices}}


def run(student, x, memory, params, num_heads):
    """The student's result, once it is known to have the rows and features of x."""
    result = student.decoder_layer(x, memory, params, num_heads)
    sentence = f"The result is an array shaped like x, {x.shape}."
    expect.true(getattr(result, "shape", None) == x.shape, sentence)
    return result


def sharpened(case):
    """The same case in float64, q of both attentions so large that scores may reach 500, not overflow."""
    d_model = case["x"].shape[1]
    largest = 500 * np.sqrt(d_model / case["num_heads"]) / d_model
    params = {
        name: {key: matrix.astype(np.float64) for key, matrix in weights.items()}
        for name, weights in case["params"].items()
    }
    for name in ("self_attention", "cross_attention"):
        size = np.linalg.norm(params[name]["q"], 2) * np.linalg.norm(params[name]["k"], 2)
        params[name]["q"] *= largest / max(size, 0.01)
    wide = {name: case[name].astype(np.float64) for name in ("x", "memory")}
    return {**case, **wide, "params": params}


@KATA.cases
def cases(draw):
    case = layer_case(draw)
    return sharpened(case) if draw(st.sampled_from([False, False, False, True])) else case


@KATA.corner(points=0.5)
def scores_in_the_hundreds(params):
    """Scores in the hundreds are told apart like small ones."""
    return any(np.abs(params[name]["q"]).max() > 4 for name in ("self_attention", "cross_attention"))


@KATA.example
def worked_example():
    identity = np.eye(2)
    return {
        "x": np.array([[3.0, 1.0]]),
        "memory": np.array([[0.0, 2.0]]),
        "params": {
            "self_attention": {name: identity.copy() for name in "qkvo"},
            "cross_attention": {name: identity.copy() for name in "qkvo"},
            "feed_forward": {"w1": identity.copy(), "w2": identity.copy()},
        },
        "num_heads": 1,
    }


@KATA.example
def printed_layer():
    """The first layer of the printed two-layer stack: seeds 0 (inputs) and 1 (weights)."""
    inputs = np.random.RandomState(0)
    weights = np.random.default_rng(1)

    def matrix(rows, columns):
        return weights.standard_normal((rows, columns)) * 0.2

    return {
        "x": inputs.randn(3, 8) * 0.5,
        "memory": inputs.randn(4, 8) * 0.5,
        "params": {
            "self_attention": {name: matrix(8, 8) for name in "qkvo"},
            "cross_attention": {name: matrix(8, 8) for name in "qkvo"},
            "feed_forward": {"w1": matrix(8, 16), "w2": matrix(16, 8)},
        },
        "num_heads": 2,
    }


@KATA.example
def printed_layer_with_large_scores():
    return sharpened(printed_layer())


@KATA.example
def heads_and_hidden_scores_far_apart():
    """The first token's own score is -500 in one head and 500 in the other; that of the token that it must
    not see is turned round. float64 can take either by itself, and not their difference."""
    unit = np.eye(2)
    loud = {**dict.fromkeys("kvo", unit), "q": np.diag([-500.0, 500.0])}
    return {
        "x": unit,
        "memory": np.array([[0.0, 2.0]]),
        "params": {
            "self_attention": loud,
            "cross_attention": dict.fromkeys("qkvo", unit),
            "feed_forward": {"w1": unit, "w2": unit},
        },
        "num_heads": 2,
    }


def with_another_future(draw):
    case = layer_case(draw, shortest_target=2)
    cut = draw(st.integers(1, len(case["x"]) - 1))
    d_model = case["x"].shape[1]
    return {
        **case,
        "cut": cut,
        "future": token_rows(draw, len(case["x"]) - cut, d_model, case["x"].dtype.name),
    }


@KATA.law(points=0.5, cases=with_another_future)
def test_future_tokens_change_no_earlier_row(student, x, memory, params, num_heads, cut, future):
    """Changing later target tokens changes no earlier row."""
    before = run(student, x, memory, params, num_heads)
    after = run(student, np.concatenate([x[:cut], future]), memory, params, num_heads)
    what = f"the result ahead of token {cut}, after the target tokens from there on changed,"
    expect.close(after[:cut], before[:cut], what, dtype=x.dtype.name, **SLACK)


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would cost more calls and show no more."""
    return layer_case(draw)


@KATA.law(points=0.5, cases=fresh_cases)
def test_silent_sublayers_leave_x_as_it_is(student, x, memory, params, num_heads):
    """Where every sublayer's last matrix is zero, the layer returns x."""
    zero = np.zeros_like(params["self_attention"]["o"])
    silent = changed(params, "self_attention", o=zero)
    silent = changed(silent, "cross_attention", o=zero)
    silent = changed(silent, "feed_forward", w2=np.zeros_like(params["feed_forward"]["w2"]))
    result = run(student, x, memory, silent, num_heads)
    expect.close(result, x, "x plus three sublayers that give zero", dtype=x.dtype.name, **SLACK)


def with_offsets(draw):
    case = layer_case(draw)
    drawn = [draw(st.sampled_from([-3, -2, -1, 1, 2, 3])) for _ in case["memory"]]
    return {**case, "offset": np.array(drawn, dtype=case["memory"].dtype)[:, None]}


@KATA.law(points=0.5, cases=with_offsets)
def test_memory_is_normalised(student, x, memory, params, num_heads, offset):
    """Adding a constant to all features of a memory token changes nothing."""
    plain = run(student, x, memory, params, num_heads)
    shifted = run(student, x, memory + offset, params, num_heads)
    what = "the layer's result, after a constant was added to each memory token,"
    expect.close(shifted, plain, what, dtype=x.dtype.name, **SLACK)


def with_a_permuted_memory(draw):
    case = layer_case(draw)
    return {**case, "order": draw(st.permutations(range(len(case["memory"]))))}


@KATA.law(points=0.5, cases=with_a_permuted_memory)
def test_memory_has_no_order(student, x, memory, params, num_heads, order):
    """Reordering the memory tokens changes nothing: cross-attention has no mask."""
    plain = run(student, x, memory, params, num_heads)
    reordered = run(student, x, memory[list(order)], params, num_heads)
    what = "the layer's result, after the memory tokens were reordered,"
    expect.close(reordered, plain, what, dtype=x.dtype.name, **SLACK)


def with_one_memory_token(draw):
    return layer_case(draw, longest_source=1)


@KATA.law(points=0.5, cases=with_one_memory_token)
def test_single_memory_token_is_read_in_full(student, x, memory, params, num_heads):
    """With one memory token, q and k of the cross-attention decide nothing."""
    weights = params["cross_attention"]
    others = changed(params, "cross_attention", q=-2 * weights["k"], k=weights["q"])
    plain = run(student, x, memory, params, num_heads)
    result = run(student, x, memory, others, num_heads)
    what = "the layer's result on one memory token, after q and k of the cross-attention changed,"
    expect.close(result, plain, what, dtype=x.dtype.name, **SLACK)


def with_several_heads(draw):
    return layer_case(draw, widths=[width for width in WIDTHS if width[0] > 1])


@KATA.law(points=0.5, cases=with_several_heads)
def test_heads_have_no_order(student, x, memory, params, num_heads):
    """Renumbering the heads in q, k, v and o alike changes nothing."""
    d_head = x.shape[1] // num_heads
    order = np.roll(np.arange(x.shape[1]), d_head)
    renumbered = params
    for sublayer in ("self_attention", "cross_attention"):
        columns = {name: params[sublayer][name][:, order] for name in "qkv"}
        renumbered = changed(renumbered, sublayer, **columns, o=params[sublayer]["o"][order])
    plain = run(student, x, memory, params, num_heads)
    result = run(student, x, memory, renumbered, num_heads)
    what = "the layer's result, after the last head became the first in q, k, v and o,"
    expect.close(result, plain, what, dtype=x.dtype.name, **SLACK)


@KATA.law(points=0.5)
def test_printed_table(student):
    """The first layer of the printed stack comes out to three decimals."""
    printed = [
        [0.53, 0.08, 0.516, 0.581, 0.476, -0.617, -0.504, -0.161],
        [-0.481, 0.278, 0.286, 0.388, -0.082, -0.387, -1.063, -0.353],
        [1.45, 0.643, 0.626, -0.598, -2.06, -0.356, -0.788, -0.535],
    ]
    result = run(student, **printed_layer())
    expect.decimals(result, np.array(printed), 3, "the result of the printed layer")
