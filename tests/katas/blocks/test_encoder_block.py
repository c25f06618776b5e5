"""encoder_block: its cases and its laws.

A norm multiplies the rounding of what came before by one over the row's spread. `ROUNDINGS` leaves room for
that; mistakes below it show in the float64 cases.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8
SLACK = {"terms": 8, "roundings": ROUNDINGS}
#: num_heads, d_k, d_v and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(1, 2, 2, 3), (2, 2, 2, 4), (3, 2, 2, 5), (2, 3, 3, 4), (1, 3, 3, 4), (4, 1, 1, 3)]
#: The same, where the values are wider or narrower than the keys.
UNLIKE_WIDTHS = [(2, 2, 3, 4), (2, 3, 1, 4), (3, 1, 2, 5), (1, 3, 4, 4), (4, 2, 1, 3)]

KATA = Kata(
    "encoder_block",
    track="blocks",
    entry_points=("encoder_block",),
    title="Attend, add, norm; think, add, norm",
    source="Vaswani et al. 2017, sections 3.1 to 3.3",
    axes={"x": "batch tokens d_model", "mask": "batch heads queries keys"},
    hints=(
        "Write the two lines of the statement first, with three functions that do not exist yet. Each norm "
        "is given a sum, and the second sum holds nothing of x but what h has kept.",
        "Take the width of a head from the product itself, for w_v may be wider than w_k. Hidden scores need "
        "a weight of 0 after the softmax; ask what yours does with a row that is hidden altogether.",
        "Attention: three products, each reshaped to [B, T, H, width], tokens and heads exchanged. Scores "
        "over the root of d_k, hidden ones very low, exp of scores minus their maximum, hidden ones set to "
        "0, divided by the sum, or by 1 where the sum is 0. Times v, axes exchanged back, reshaped, times "
        "w_o. Then add x and norm; feed forward, add h and norm.",
    ),
    hint_for={
        "adds_x_to_the_feed_forward": 1,
        "forgets_the_second_residual": 1,
        "normalises_before_each_sublayer": 1,
        "expects_values_as_wide_as_keys": 2,
        "divides_zero_by_zero": 2,
        "shares_where_nothing_is_visible": 2,
    },
    roundings=ROUNDINGS,
    bank_size=32,
)


def block_params(rng, num_heads, d_k, d_v, d_model, d_ff):
    """Weights in hundredths, 0.4 in size; gammas around one, betas around zero."""

    def hundredths(*shape, size=0.4, around=0.0):
        return np.round(rng.standard_normal(shape) * size + around, 2) + 0.0

    return {
        "w_q": hundredths(d_model, num_heads * d_k),
        "w_k": hundredths(d_model, num_heads * d_k),
        "w_v": hundredths(d_model, num_heads * d_v),
        "w_o": hundredths(num_heads * d_v, d_model),
        "w1": hundredths(d_model, d_ff),
        "b1": hundredths(d_ff),
        "w2": hundredths(d_ff, d_model),
        "b2": hundredths(d_model),
        "norm1_gamma": hundredths(d_model, size=0.2, around=1.0),
        "norm1_beta": hundredths(d_model),
        "norm2_gamma": hundredths(d_model, size=0.2, around=1.0),
        "norm2_beta": hundredths(d_model),
    }


def token_rows(rng, shape):
    """Rows of hundredths whose spread is not lost beside their mean."""
    rows = np.round(rng.standard_normal(shape) * 1.5, 2) + 0.0
    rows[..., 0] += rows.std(axis=-1) < 0.5
    return rows


def draw_mask(draw, rng, batch, num_heads, tokens):
    """None, or a mask of any shape that broadcasts; the padding kind and the full one most often."""
    shapes = [
        (batch, 1, 1, tokens),
        (batch, num_heads, tokens, tokens),
        (batch, 1, tokens, tokens),
        (tokens, tokens),
        (1, num_heads, tokens, 1),
        (num_heads, 1, tokens),
        (tokens,),
    ]
    shape = draw(st.sampled_from([None, *shapes[:2], *shapes]))
    return None if shape is None else rng.random(shape) < draw(st.sampled_from([0.7, 0.4]))


def block_case(draw, widths=WIDTHS, shortest=1):
    """Arguments of one call."""
    num_heads, d_k, d_v, d_model = draw(st.sampled_from(widths))
    batch, tokens = draw(st.integers(1, 3)), draw(st.integers(shortest, 4))
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    params = block_params(rng, num_heads, d_k, d_v, d_model, draw(st.integers(1, 5)))
    return {
        "x": draw(st.permuted(st.just(token_rows(rng, (batch, tokens, d_model)).astype(dtype)))),
        "params": {name: array.astype(dtype) for name, array in params.items()},
        "num_heads": num_heads,
        "mask": draw_mask(draw, rng, batch, num_heads, tokens),
    }


def sighted(case):
    """The same case with a mask that lets every token attend to itself."""
    if not sees_nothing(case["mask"]):
        return case
    batch, tokens, _ = case["x"].shape
    wide = np.broadcast_to(case["mask"], (batch, case["num_heads"], tokens, tokens))
    return {**case, "mask": wide | np.eye(tokens, dtype=bool)}


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would cost more calls and show no more."""
    return sighted(block_case(draw))


@KATA.cases
def cases(draw):
    """One case in five has scores in the hundreds, another one values unlike the keys in width, a third rows
    far from zero, to which the attention adds nothing."""
    kind = draw(st.sampled_from(["plain", "plain", "extreme", "unlike", "far"]))
    case = block_case(draw, widths=UNLIKE_WIDTHS if kind == "unlike" else WIDTHS)
    if kind == "far":
        silent = {**case["params"], "w_o": 0 * case["params"]["w_o"]}
        return {**case, "x": case["x"] + case["x"].dtype.type(1000), "params": silent, "mask": None}
    if kind == "extreme":
        return sighted({**case, "x": case["x"] * case["x"].dtype.type(12)})
    return sighted(case) if kind == "unlike" else case


@KATA.corner(points=0.5)
def rows_far_from_zero(x):
    """The norms keep the digits of rows whose mean is far larger than their spread."""
    return bool(np.abs(x.mean(axis=-1)).min() > 500)


@KATA.corner(points=0.5)
def extreme_scores(x):
    """Scores in the hundreds and thousands are shared out, or hidden, like small ones."""
    return bool(np.abs(x).max() > 12)


@KATA.corner(points=0.5)
def sees_nothing(mask):
    """A token that may attend to nothing gathers nothing."""
    return mask is not None and not mask.any(axis=-1).all()


@KATA.corner(points=0.5)
def values_unlike_keys(params):
    """The values may be wider or narrower than the keys."""
    return params["w_v"].shape != params["w_k"].shape


@KATA.example
def worked_example():
    identity, one, zero = np.eye(2), np.ones(2), np.zeros(2)
    matrices = {name: identity.copy() for name in ("w_q", "w_k", "w_v", "w_o", "w1", "w2")}
    norms = {"norm1_gamma": one, "norm1_beta": zero, "norm2_gamma": one, "norm2_beta": np.array([0.0, 0.5])}
    return {
        "x": np.array([[[3.0, 1.0], [0.0, 2.0]]]),
        "params": {**matrices, "b1": zero, "b2": zero, **norms},
        "num_heads": 1,
        "mask": np.array([[True, False], [False, True]]),
    }


@KATA.example
def large_tokens():
    """Scores near 800, of which exp is infinite, and two that differ by one half."""
    names = ("w_q", "w_k", "w_v", "w_o", "w1", "w2")
    norms = {
        f"norm{n}_{name}": np.full(4, value) for n in "12" for name, value in (("gamma", 1.0), ("beta", 0.0))
    }
    return {
        "x": np.array([[[40.0, 0.0, 1.0, 2.0], [40.0, 1.0, 0.0, 2.0], [1.0, -40.0, 0.0, 3.0]]]),
        "params": {**{name: np.eye(4) for name in names}, "b1": np.zeros(4), "b2": np.ones(4), **norms},
        "num_heads": 1,
        "mask": None,
    }


@KATA.example
def opposite_tokens():
    """The hidden score of the second token is 25,600 above the one that it may attend to."""
    case = large_tokens()
    x = np.array([[[160.0, 0.0, 1.0, 2.0], [-160.0, 1.0, 0.0, 2.0], [1.0, 3.0, 0.0, 2.0]]])
    mask = np.array([[True, True, True], [True, False, False], [True, True, False]])
    return {**case, "x": x, "mask": mask}


@KATA.example
def as_many_sequences_as_heads():
    """A mask of three axes is one for each head, and not for each sequence."""
    case, rng = large_tokens(), np.random.default_rng(6)
    mask = np.stack([np.tri(3, dtype=bool), ~np.eye(3, dtype=bool)])
    return {**case, "x": rng.standard_normal((2, 3, 4)), "num_heads": 2, "mask": mask}


@KATA.observe
def observe(student, x, params, num_heads, mask):
    """No mask is asked for by leaving it out, so that the default is judged too."""
    given = {} if mask is None else {"mask": mask}
    return {"result": student.encoder_block(x, params, num_heads, **given)}


def run(student, x, params, num_heads, mask=None):
    """The student's result, once it is known to be shaped like x."""
    result = student.encoder_block(x, params, num_heads, mask)
    shape = getattr(result, "shape", None)
    expect.true(shape == x.shape, f"The result must have the shape of x, {x.shape}; it came with {shape}.")
    return result


@KATA.law(points=0.5, cases=fresh_cases)
def test_silent_sublayers_leave_two_norms(student, x, params, num_heads, mask):
    """Where both sublayers give zero, the result is x normed twice."""
    zeros = {name: np.zeros_like(params[name]) for name in ("w_o", "w2", "b2")}
    result = run(student, x, {**params, **zeros}, num_heads, mask)
    expected = x.astype(np.float64)
    for norm in ("norm1", "norm2"):
        centred = expected - expected.mean(axis=-1, keepdims=True)
        normed = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        expected = params[f"{norm}_gamma"] * normed + params[f"{norm}_beta"]
    expect.close(result, expected, "the result where w_o, w2 and b2 are zero", **SLACK)


def with_padding(draw):
    case = block_case(draw, shortest=2)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    hidden = draw(st.integers(0, case["x"].shape[1] - 1))
    other = case["x"].copy()
    other[:, hidden] = token_rows(rng, other[:, hidden].shape)
    return {name: case[name] for name in ("x", "params", "num_heads")} | {"hidden": hidden, "other": other}


@KATA.law(points=0.5, cases=with_padding)
def test_hidden_tokens_change_nothing(student, x, params, num_heads, hidden, other):
    """A token that is hidden from all queries changes no other token's result."""
    mask = (np.arange(x.shape[1]) != hidden)[None, None, None, :]
    shown = np.arange(x.shape[1]) != hidden
    before = run(student, x, params, num_heads, mask)[:, shown]
    after = run(student, other, params, num_heads, mask)[:, shown]
    what = f"the result of the other tokens, after token {hidden}, hidden by the mask, was changed,"
    expect.close(after, before, what, dtype=x.dtype.name, **SLACK)


def with_a_blind_token(draw):
    case = block_case(draw, shortest=2)
    return {**case, "blind": draw(st.integers(0, case["x"].shape[1] - 1))}


@KATA.law(points=0.5, cases=with_a_blind_token)
def test_token_that_sees_nothing_gathers_nothing(student, x, params, num_heads, blind):
    """A token that may attend to nothing gets what it would get if all attention were zero."""
    mask = np.ones((x.shape[1], x.shape[1]), dtype=bool)
    mask[blind] = False
    silent = {**params, "w_o": np.zeros_like(params["w_o"])}
    expected = run(student, x, silent, num_heads)[:, blind]
    result = run(student, x, params, num_heads, mask)[:, blind]
    what = (
        f"the result of token {blind}, whose row of the mask is all False, against that for a w_o of zeros,"
    )
    expect.close(result, expected, what, dtype=x.dtype.name, **SLACK)


def with_an_order(draw):
    case = block_case(draw, shortest=2)
    return {**case, "order": list(draw(st.permutations(range(case["x"].shape[1]))))}


@KATA.law(points=0.5, cases=with_an_order)
def test_tokens_have_no_order(student, x, params, num_heads, order):
    """Without a mask, reordering the tokens reorders the result and changes nothing else."""
    expected = run(student, x, params, num_heads)[:, order]
    result = run(student, x[:, order], params, num_heads)
    what = f"the result for the tokens in the order {order}"
    expect.close(result, expected, what, dtype=x.dtype.name, **SLACK)


def with_several_heads(draw):
    return block_case(draw, widths=[width for width in WIDTHS if width[0] > 1])


@KATA.law(points=0.5, cases=with_several_heads)
def test_heads_have_no_order(student, x, params, num_heads):
    """Renumbering the heads in w_q, w_k, w_v and w_o alike changes nothing."""
    d_k, d_v = params["w_q"].shape[1] // num_heads, params["w_v"].shape[1] // num_heads
    renumbered = {
        **params,
        "w_q": np.roll(params["w_q"], d_k, axis=1),
        "w_k": np.roll(params["w_k"], d_k, axis=1),
        "w_v": np.roll(params["w_v"], d_v, axis=1),
        "w_o": np.roll(params["w_o"], d_v, axis=0),
    }
    plain = run(student, x, params, num_heads)
    result = run(student, x, renumbered, num_heads)
    what = "the result, after the last head became the first in w_q, w_k, w_v and w_o,"
    expect.close(result, plain, what, dtype=x.dtype.name, **SLACK)
